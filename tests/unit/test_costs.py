"""What attention costs: what is measured, by laws that hold on any machine."""

import numpy as np
import pytest

from attnlab.lessons import costs
from attnlab.lessons.costs import (
    CACHED,
    CHUNKED,
    PASSES,
    PLAIN,
    RECOMPUTED,
    lengths_to,
    measure_attention,
    measure_generation,
)
from attnlab.models import TransformerOptions

STACK = TransformerOptions(layers=2, heads=2, d_attn=4, d_model=8, mlp_width=8)


@pytest.fixture(autouse=True)
def _short_rounds(monkeypatch):
    monkeypatch.setattr(costs, "_ROUND_SECONDS", 1e-4)


def test_lengths_are_powers_of_two():
    assert lengths_to(64) == (64,)
    assert lengths_to(512) == (64, 128, 256, 512)


@pytest.mark.slow
@pytest.mark.parametrize("passes", PASSES)
def test_attention_is_measured_both_ways(passes):
    progress = list(measure_attention((64, 256), d_attn=8, passes=passes))
    shares = [item.share for item in progress]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1
    measured = {(cost.length, cost.way): cost for cost in progress[-1].measured}
    assert set(measured) == {(length, way) for length in (64, 256) for way in (PLAIN, CHUNKED)}
    for cost in measured.values():
        assert (cost.seconds > 0).all()
    for length in (64, 256):
        # Its scores, of four bytes, are somewhere; those of chunks are not all there at once.
        assert measured[length, PLAIN].scratch >= 4 * length**2
    assert measured[256, CHUNKED].scratch < 4 * 256**2
    assert 0 < progress[-1].difference < 1e-4


@pytest.mark.slow
def test_generation_is_measured_both_ways():
    *_, last = measure_generation(STACK, (64,), vocab=3)
    assert [cost.way for cost in last.measured] == [RECOMPUTED, CACHED]
    assert all((cost.seconds > 0).all() for cost in last.measured)
    assert last.difference < 1e-4


@pytest.mark.slow
def test_a_cache_that_is_wrong_is_seen(monkeypatch):
    right = costs.next_logits

    def one_too_late(model, token, cache):
        logits, after = right(model, token, cache._replace(position=cache.position + 1))
        return logits, after._replace(position=cache.position + 1)

    monkeypatch.setattr(costs, "next_logits", one_too_late)
    *_, last = measure_generation(STACK, (64,), vocab=5)
    assert last.difference > 1e-2


def test_over_rounds_are_median_least_and_most():
    assert costs.over_rounds(np.array([3.0, 1.0, 9.0])) == (3.0, 1.0, 9.0)
