"""One step of a recurrent decoder with attention taken apart, from a state to the next letter."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.lessons.bottleneck.small_models import SmallModel, small_model
from attnlab.models.recurrent.encoded import EncodedRNN
from attnlab.training.experiment import Experiment


class DecoderStep(NamedTuple):
    """What happens between the states h and h′ of the decoder, in the order in which it does.

    query = h W_q + b_q; keys = s W_k + b_k for all states s of the encoder; scores = keys · query;
    pattern = softmax(scores); context = Σᵢ patternᵢ sᵢ; `before` is the last token written as a
    one-hot vector, or zeros; sums = before W_x + context W_a + b + h W_h; next_state = tanh(sums);
    logits = next_state U + b; probabilities = softmax(logits).
    """

    encoded: Float[np.ndarray, "source size"]
    state: Float[np.ndarray, " size"]
    query: Float[np.ndarray, " d_attn"]
    keys: Float[np.ndarray, "source d_attn"]
    scores: Float[np.ndarray, " source"]
    pattern: Float[np.ndarray, " source"]
    context: Float[np.ndarray, " size"]
    before: Float[np.ndarray, " vocab"]
    sums: Float[np.ndarray, " size"]
    next_state: Float[np.ndarray, " size"]
    logits: Float[np.ndarray, " vocab"]
    probabilities: Float[np.ndarray, " vocab"]


def decoder_steps(model: EncodedRNN, source: tuple[int, ...]) -> tuple[DecoderStep, ...]:
    """The steps in which the model writes a target by itself, each time its likeliest token.

    In 64-bit numbers. Refused, with a `ValueError`: a model without attention, one whose cells are
    not tanh, one whose scores are not dot products.
    """
    if model.heads is None or model.encoder.kind != "tanh" or model.heads.score != "dot":
        raise ValueError("`model` is not of the kind 'rnn-attention' with tanh cells and score dot")
    one_hot, heads = np.eye(model.vocab), model.heads
    state, encoded = np.zeros(model.options.hidden_size), []
    for token in source:
        state = np.tanh(_sums(model.encoder.gates, one_hot[token], state))
        encoded.append(state)
    encoded = np.array(encoded)
    keys = _projected(heads.key, encoded)
    steps, before = [], np.zeros(model.vocab)
    for _ in source:
        query = _projected(heads.query, state)
        scores = keys @ query
        pattern = _softmax(scores)
        context = pattern @ encoded
        sums = _sums(model.decoder.gates, np.concatenate([before, context]), state)
        following = np.tanh(sums)
        logits = _projected(model.unembedding, following)
        steps.append(
            DecoderStep(
                encoded, state, query, keys, scores, pattern, context, before, sums, following,
                logits, _softmax(logits),
            )
        )  # fmt: skip
        state, before = following, one_hot[int(logits.argmax())]
    return tuple(steps)


def small_steps(
    experiment: Experiment, source: tuple[int, ...]
) -> tuple[SmallModel, tuple[DecoderStep, ...]]:
    """The small model of an experiment and its `decoder_steps`."""
    small = small_model(experiment)
    return small, decoder_steps(small.model, source)


def sums_apart(model: EncodedRNN, step: DecoderStep) -> tuple[Float[np.ndarray, " size"], ...]:
    """What adds up to the sums of a step: of the last token, of the context, of h, and the bias."""
    gates, letters = model.decoder.gates, step.before.size
    weight, bias = (np.asarray(part, np.float64) for part in gates.inputs)
    return (
        step.before @ weight[:letters],
        step.context @ weight[letters:],
        step.state @ np.asarray(gates.carried, np.float64),
        bias,
    )


def written_by(steps: tuple[DecoderStep, ...]) -> Int[np.ndarray, " target"]:
    """The tokens that the steps write."""
    return np.array([step.logits.argmax() for step in steps])


def _sums(cell, inputs: np.ndarray, state: np.ndarray) -> np.ndarray:
    return _projected(cell.inputs, inputs) + state @ np.asarray(cell.carried, np.float64)


def _projected(projection, rows: np.ndarray) -> np.ndarray:
    weight, bias = (np.asarray(part, np.float64) for part in projection)
    return rows @ weight + bias


def _softmax(numbers: np.ndarray) -> np.ndarray:
    shares = np.exp(numbers - numbers.max())
    return shares / shares.sum()
