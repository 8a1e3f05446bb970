"""The models of attnlab in PyTorch, as its users write them.

Only the rows in the loss are read out: the last one, or all of a transformer with the loss `next`,
and of a target that follows a source.
"""

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnlab import Experiment
from attnlab.generators import Cards
from attnlab.models import (
    AttentionOptions,
    ConvOptions,
    EncoderDecoderOptions,
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

    reads_all = False

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
        if self.reads_all:
            return self.unembedding(self.normalisation(self.layers[-1](rows, rows.shape[1])))
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


class Translator(nn.Module):
    """PyTorch's own transformer with a source, taught by the true target; heads as wide as ours."""

    def __init__(self, options: EncoderDecoderOptions, vocab: int, length: int):
        super().__init__()
        width = options.d_model
        if options.heads * options.d_attn != width:
            raise ValueError("PyTorch's heads divide the width among them.")
        self.begin, self.asked = vocab, (length + 1) // 2
        self.tokens = nn.Embedding(vocab + 1, width)
        self.positions = nn.Parameter(torch.randn(length + 1, width))
        self.transformer = nn.Transformer(
            width,
            options.heads,
            num_encoder_layers=options.layers,
            num_decoder_layers=options.layers,
            dim_feedforward=options.mlp_width,
            dropout=0.0,
            activation=partial(F.gelu, approximate="tanh"),
            batch_first=True,
            norm_first=True,
        )
        self.mask = nn.Transformer.generate_square_subsequent_mask(self.asked)
        self.unembedding = nn.Linear(width, vocab)

    def forward(self, visible: Tensor) -> Tensor:
        source = visible[:, : self.asked]
        written = F.pad(visible[:, self.asked :], (1, 0), value=self.begin)
        of_source, of_target = self.positions.split(self.asked)
        rows = self.transformer(
            self.tokens(source) + of_source,
            self.tokens(written) + of_target,
            tgt_mask=self.mask,
            tgt_is_causal=True,
        )
        return self.unembedding(rows)


_MODELS = {
    AttentionOptions: Head,
    EncoderDecoderOptions: Translator,
    TransformerOptions: Stack,
    GRUOptions: Recurrent,
    ConvOptions: Convolutions,
}


def model_of(experiment: Experiment) -> nn.Module:
    """The model of an experiment, at its starting values."""
    torch.manual_seed(experiment.seed)
    options = experiment.model
    model = _MODELS[type(options)](options, experiment.generator.vocabulary.size, experiment.length)
    model.reads_all = experiment.training.loss == "next"
    return model


def hands(task: Cards, batch: int) -> Tensor:
    """New hands and their cards by rank, as many as a training step takes."""
    hand = torch.rand(batch, task.vocabulary.size).topk(task.hand).indices
    place = (hand % task.ranks * task.suits + hand // task.ranks).sort().values
    return torch.cat([hand, place % task.suits * task.ranks + place // task.suits], dim=1)
