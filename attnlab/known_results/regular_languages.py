"""Recurrent networks recognise parity at any length; transformers do not."""

from collections.abc import Sequence
from types import MappingProxyType

import jax.random as jr
import numpy as np

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import HiddenChain
from attnlab.inspection import probs_by_query
from attnlab.inspection.lengths import MOST_TIMES, model_at_length
from attnlab.known_results.entry import SHARE, Check, KnownResult
from attnlab.models import AbstractModel, AbstractModelOptions, RNNOptions, TransformerOptions
from attnlab.positions import Alibi
from attnlab.training.experiment import Experiment, Setup
from attnlab.training.optimisers import WarmUpCosine
from attnlab.training.steps import Training

_LENGTH, _SEQUENCES, _END = 20, 500, 0.1
_BITS, _YES, _NO = 2, 2, 3
_ACCURACY = "accuracy on longer words"
# Keeps the words apart from the draws of the run.
_DRAW = 11

# The state after each bit, by language, state and bit; and the states in which a word belongs to
# the language. Parity: an even number of ones. Even pairs: as many changes 01 as 10, which is so if
# the last bit is the first one.
_MOVES: dict[str, Sequence[tuple[int, int]]] = {
    "parity": [(0, 1), (1, 0)],
    "even pairs": [(1, 4), (1, 2), (1, 2), (3, 4), (3, 4)],
}
_ACCEPTED = {"parity": (0,), "even pairs": (0, 1, 4)}


def language(name: str) -> HiddenChain:
    """Return a process of words: random bits, then a symbol for whether they are in the language.

    A word ends after each bit with probability 0.1, and the next begins.
    """
    moves = _MOVES[name]
    table = np.zeros((len(moves), _BITS + 2, len(moves)))
    for state, after in enumerate(moves):
        for bit in range(_BITS):
            table[state, bit, after[bit]] = (1 - _END) / _BITS
        table[state, _YES if state in _ACCEPTED[name] else _NO, 0] = _END
    return HiddenChain(
        symbols="0 1 yes no",
        first_state="given",
        initial=(1.0, *[0.0] * (len(moves) - 1)),
        table=tuple(map(tuple, table.reshape(len(moves), -1).tolist())),
    )


def are_in_language(bits: np.ndarray, name: str) -> np.ndarray:
    """Return, for every prefix of each row of bits, whether it is in the language."""
    states, found = np.zeros(len(bits), int), []
    for bit in bits.T:
        states = np.array(_MOVES[name])[states, bit]
        found.append(np.isin(states, _ACCEPTED[name]))
    return np.stack(found, axis=1)


@fixed_numerics()
def accuracy_on_longer_words(model: AbstractModel, setup: Setup) -> float:
    """Return how often the right symbol is the likelier one, for words of 21 to 80 bits."""
    experiment = setup.experiment
    name = next(each for each in _MOVES if experiment.generator == language(each))
    length = MOST_TIMES * _LENGTH
    key = jr.fold_in(key_of(experiment.seed), _DRAW)
    bits = np.asarray(jr.randint(key, (_SEQUENCES, length), 0, _BITS))
    probs = probs_by_query(model_at_length(experiment, model, length), bits)
    says_yes = probs[..., _YES] > probs[..., _NO]
    return (says_yes == are_in_language(bits, name))[:, _LENGTH:].mean()


def _with(model: AbstractModelOptions, name: str) -> Experiment:
    return Experiment(
        generator=language(name),
        length=_LENGTH,
        model=model,
        training=Training(
            loss="next",
            data="fresh",
            batch=64,
            learning_rate=3e-3,
            schedule=WarmUpCosine(),
            steps=3_000,
            test_size=1_000,
        ),
    )


_MODELS = {
    "rnn": RNNOptions(hidden_size=32),
    "transformer": TransformerOptions(
        layers=2,
        heads=4,
        d_attn=8,
        d_model=32,
        mlp_width=64,
        position=Alibi(slopes="by head"),
    ),
}

RESULT = KnownResult(
    name="regular-languages",
    title="Parity at longer lengths",
    claim="A recurrent network recognises parity and even pairs on words longer than in training. "
    "A transformer does not recognise parity there, and does better on even pairs.",
    source="Delétang et al. (2023), “Neural networks and the Chomsky hierarchy”",
    settings=MappingProxyType(
        {
            f"{family}, {name}": _with(model, name)
            for name in _MOVES
            for family, model in _MODELS.items()
        }
    ),
    checks=(
        Check(
            "The accuracy of the RNN on longer words of parity is at least 0.9.",
            "rnn, parity",
            _ACCURACY,
            least=0.9,
            most=1.0,
        ),
        Check(
            "The accuracy of the transformer on longer words of parity is at most 0.6.",
            "transformer, parity",
            _ACCURACY,
            most=0.6,
        ),
        Check(
            "The accuracy of the RNN on longer words of even pairs is at least 0.9.",
            "rnn, even pairs",
            _ACCURACY,
            least=0.9,
            most=1.0,
        ),
        Check(
            "The transformer is at least 0.1 more accurate on even pairs than on parity.",
            "transformer, even pairs",
            _ACCURACY,
            least=0.1,
            minus="transformer, parity",
        ),
    ),
    metrics=MappingProxyType({_ACCURACY: accuracy_on_longer_words}),
    bounds=MappingProxyType({_ACCURACY: SHARE}),
    differs="The paper classifies one word at a time, trains on up to 40 bits and tests on up to "
    "500. Here a stream of words and answers has 20 tokens in training, and words of 21 to 80 bits "
    "are tested. The rnn was tuned on three seeds, the transformer was tried on seed 0 alone.",
    tuned_on=(0, 1, 2),
)
