"""The models of attnlab in PyTorch, as its users write them, with only the last row read out."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnlab import Experiment
from attnlab.models import (
    AttentionOptions,
    ConvOptions,
    GRUOptions,
    TransformerOptions,
)


class Head(nn.Module):
    """One head with learned positions beside one-hot tokens; only the last position asks."""

    def __init__(self, options: AttentionOptions, vocab: int, length: int):
        super().__init__()
        width = vocab + options.d_model
        self.tokens = torch.eye(vocab)
        self.positions = nn.Parameter(torch.randn(length, options.d_model))
        self.query = nn.Linear(width, options.d_attn)
        self.key = nn.Linear(width, options.d_attn)
        self.value = nn.Linear(width, vocab)
        self.scale = options.d_attn**-0.5

    def forward(self, tokens: Tensor) -> Tensor:
        positions = self.positions.expand(tokens.shape[0], -1, -1)
        inputs = torch.cat([self.tokens[tokens], positions], dim=-1)
        query = self.query(inputs[:, -1:])
        scores = query @ self.key(inputs).transpose(1, 2) * self.scale
        return (scores.softmax(dim=-1) @ self.value(inputs))[:, 0]


class Layer(nn.Module):
    """A layer with its normalisations in front; of the rows that ask, only these are computed."""

    def __init__(self, options: TransformerOptions):
        super().__init__()
        width, compared = options.d_model, options.heads * options.d_attn
        self.heads = options.heads
        self.before_heads, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query = nn.Linear(width, compared)
        self.key_and_value = nn.Linear(width, 2 * compared)
        self.output = nn.Linear(compared, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, options.mlp_width),
            nn.GELU(approximate="tanh"),
            nn.Linear(options.mlp_width, width),
        )

    def forward(self, rows: Tensor, asking: int) -> Tensor:
        read = self.before_heads(rows)
        key, value = self.key_and_value(read).chunk(2, dim=-1)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(read[:, -asking:]), key, value)
        )
        # A single last row sees all keys.
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=asking > 1)
        rows = rows[:, -asking:] + self.output(mixed.transpose(1, 2).flatten(2))
        return rows + self.mlp(self.before_mlp(rows))


class Stack(nn.Module):
    """The transformer with learned positions and all its usual parts."""

    def __init__(self, options: TransformerOptions, vocab: int, length: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, options.d_model)
        self.positions = nn.Parameter(torch.randn(length, options.d_model))
        self.layers = nn.ModuleList(Layer(options) for _ in range(options.layers))
        self.normalisation = nn.LayerNorm(options.d_model)
        self.unembedding = nn.Linear(options.d_model, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        rows = self.tokens(tokens) + self.positions
        for layer in self.layers[:-1]:
            rows = layer(rows, rows.shape[1])
        return self.unembedding(self.normalisation(self.layers[-1](rows, 1)[:, 0]))


class Recurrent(nn.Module):
    """PyTorch's own GRU, whose gates have a bias more than here."""

    def __init__(self, options: GRUOptions, vocab: int, length: int):
        super().__init__()
        self.vocab = vocab
        self.gru = nn.GRU(vocab, options.hidden_size, batch_first=True)
        self.unembedding = nn.Linear(options.hidden_size, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.gru(F.one_hot(tokens, self.vocab).float())
        return self.unembedding(states[:, -1])


class Convolutions(nn.Module):
    """PyTorch's own convolutions, padded in front so that none looks ahead."""

    def __init__(self, options: ConvOptions, vocab: int, length: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab, options.d_model)
        self.layers = nn.ModuleList(
            nn.Conv1d(options.d_model, options.d_model, options.kernel_size, dilation=stride)
            for stride in options.strides()
        )
        self.unembedding = nn.Linear(options.d_model, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        rows = self.tokens(tokens).transpose(1, 2)
        for layer in self.layers:
            back = (layer.kernel_size[0] - 1) * layer.dilation[0]
            rows = rows + F.gelu(layer(F.pad(rows, (back, 0))), approximate="tanh")
        return self.unembedding(rows[:, :, -1])


_MODELS = {
    AttentionOptions: Head,
    TransformerOptions: Stack,
    GRUOptions: Recurrent,
    ConvOptions: Convolutions,
}


def model_of(experiment: Experiment) -> nn.Module:
    """The model of an experiment, at its starting values."""
    torch.manual_seed(experiment.seed)
    options = experiment.model
    return _MODELS[type(options)](options, experiment.generator.vocabulary.size, experiment.length)
