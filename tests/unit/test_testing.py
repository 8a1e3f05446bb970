"""The laws for processes and models fail where something is wrong."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jaxtyping import Array

from attnlab.configuration.options import OptionError, option
from attnlab.generators import AbstractGenerator, Cards, Draw
from attnlab.generators.vocabulary import WEATHER, Vocabulary
from attnlab.models import AbstractModel, AbstractModelOptions, AttentionMap, Trace
from attnlab.models.sites import Activations
from attnlab.optimum import optimum
from attnlab.testing import check_model, check_process

RISING = np.array([0.2, 0.3, 0.5])


@dataclasses.dataclass(frozen=True)
class Independent(AbstractGenerator):
    """Independent tokens, with a fault of a name."""

    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "For this test."
    vocabulary: ClassVar[Vocabulary] = WEATHER

    fault: str = option("", "What is wrong.")

    def start(self):
        return () if self.fault == "no belief" else jnp.int32(0)

    def log_probs(self, belief):
        probs = jnp.array(RISING)
        if self.fault == "no distribution":
            probs = probs * 1.01
        if self.fault == "impossible":
            probs = jnp.array([0.0, 0.5, 0.5]) + 1e-30
        return jnp.log(probs)

    def update(self, belief, token):
        return belief + 1

    def draw(self, start, key, length):
        if self.fault == "two draws":
            return Draw(jnp.zeros(length, jnp.int32))
        tokens = super().draw(start, key, length).tokens
        if self.fault == "drawn otherwise":
            tokens = jnp.where(tokens == 2, 1, tokens)
        return Draw(tokens + 3 * (self.fault == "out of range"))


def joint(length):
    law = np.ones(())
    for _ in range(length):
        law = np.multiply.outer(law, RISING)
    return law


def test_a_belief_without_an_array_is_refused_with_a_remedy():
    with pytest.raises(OptionError, match=r"`start` is \(\): .* Return a constant"):
        optimum(Independent("no belief"), 3)


@pytest.mark.slow
def test_a_right_process_passes():
    check_process(Independent(), length=3, joint=joint, draws=5_000)
    check_process(Cards(hand=2, suits=1, ranks=3), draws=5_000)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no distribution", "do not sum to 1"),
        ("impossible", "impossible is not -inf"),
        ("two draws", "two keys draw the same"),
        ("drawn otherwise", "not occur as often as predicted"),
        ("out of range", "out of range"),
    ],
)
def test_a_wrong_process_is_found(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_process(Independent(fault=fault), length=3, draws=5_000)


def test_a_process_that_differs_from_its_oracle_is_found():
    with pytest.raises(AssertionError, match="differ from the oracle"):
        check_process(Independent(), length=3, joint=lambda n: joint(n)[::-1], draws=5_000)


def test_too_many_sequences_are_refused():
    with pytest.raises(ValueError, match="`length` is 20"):
        check_process(Independent(), length=20)


@dataclasses.dataclass(frozen=True)
class Reading(AbstractModelOptions):
    """Each position reads itself and the one before it, with a fault of a name."""

    name: ClassVar[str] = "reading"
    summary: ClassVar[str] = "For this test."

    fault: str = option("", "What is wrong.")

    @property
    def causal(self):
        return self.fault != "says too much"

    def sees(self, position, length):
        return tuple(range(max(0, position - 1), position + 1))

    def build(self, *, vocab, length, key):
        return Reader(vocab, self.fault, jr.normal(key, (2, vocab, vocab)))


class Reader(AbstractModel):
    vocab: int = eqx.field(static=True)
    fault: str = eqx.field(static=True)
    rows: Array

    @property
    def sites(self):
        return ("embedding", "nowhere") if self.fault == "not captured" else ("embedding",)

    def read(self, one_hot, queries, *, edits=(), capture=()):
        inner, tokens = Activations(edits, capture), one_hot
        if self.fault == "some positions":
            inner.at("embedding", one_hot[:2])
        else:
            one_hot = inner.at("embedding", one_hot)
        if self.fault == "changed by capture" and capture:
            one_hot = 2 * one_hot
        if self.fault == "changed by an edit" and edits:
            one_hot = 2 * one_hot
        if self.fault == "before its edit" and capture:
            inner.kept["embedding"] = tokens
        if self.fault == "unasked":
            inner.kept["embedding"] = one_hot
        places = jnp.arange(len(one_hot))
        distance = queries[:, None] - places[None, :]
        if self.fault == "looks ahead":
            distance = distance + 1
        mask = (distance >= 0) & (distance <= 1)
        weight = 0.5 if self.fault == "rows" else 1 / mask.sum(axis=1, keepdims=True)
        pattern = mask * weight
        if self.fault == "outside":
            mask = mask & (distance < 1)
        own = tokens if self.fault in ("not the last", "ignored") else one_hot
        seen = tokens if self.fault == "ignored" else one_hot
        logits = (pattern @ seen) @ self.rows[0] + jnp.tanh(own[queries] @ self.rows[1])
        if self.fault == "asked for others":
            logits = logits + queries.sum()
        if self.fault == "shape":
            logits = logits[:, 1:]
        return logits, Trace((AttentionMap(pattern[None], mask, 0),), residual=inner.kept)


@pytest.mark.slow
def test_a_right_model_passes():
    def forward(model, tokens):
        first, second = np.asarray(model.rows, np.float64)
        before = np.maximum(np.arange(len(tokens)) - 1, 0)
        return (first[tokens] + first[tokens[before]]) / 2 + np.tanh(second[tokens])

    check_model(Reading(), forward=forward)
    with pytest.raises(AssertionError, match="differ from the oracle"):
        check_model(Reading(), forward=lambda model, tokens: -forward(model, tokens))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("looks ahead", "the prediction at .* depends on"),
        ("says too much", "contradict"),
        ("rows", "do not sum to 1"),
        ("outside", "outside of its mask"),
        ("asked for others", "which other queries"),
        ("shape", "the shape"),
        ("unasked", "no `capture` asked for"),
        ("not captured", "'nowhere' is not captured"),
        ("some positions", "'embedding' has 2 rows"),
        ("changed by capture", "`capture` changes the logits"),
        ("changed by an edit", "edits at no position change the logits"),
        ("before its edit", "captured without its edit"),
        ("ignored", "an edit at 'embedding' changes no logits"),
        ("not the last", "last site does not decide"),
    ],
)
def test_a_wrong_model_is_found(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_model(Reading(fault=fault))
