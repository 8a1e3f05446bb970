"""The bottleneck: bits against enumeration, one decoder step against the model, maps and truths."""

import itertools
import json
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.comparisons.paired import meet_same_data
from attnlab.comparisons.summary import figures_of
from attnlab.generators import Cards
from attnlab.lessons import small_models
from attnlab.lessons.bottleneck import (
    ATTENTION,
    BOTTLENECK,
    FAMILIES,
    HANDS,
    WIDTHS,
    bits_of,
    bottleneck_rows,
    reversing,
    swept,
)
from attnlab.lessons.small_models import (
    ALIGNED_FAMILIES,
    ALIGNED_TASKS,
    aligning,
    all_small,
    decoder_steps,
    share_aligned,
    small_model,
    stepping,
    sums_apart,
    write_target,
    written_by,
)
from attnlab.models.base import HIDDEN_STATES
from tools.small_models import models_text

SOURCES = ((5, 0, 3, 1, 4), (2, 2, 0, 5, 1), (4, 4, 4, 4, 4))


def shares_of(setting):
    return np.array(list(figures_of(bottleneck_rows()[setting], "exact_match").values()))


def matched(family, hand, width):
    return shares_of(swept(family, hand, width))


# Bits.


def test_bits_count_the_sorted_hands():
    task = Cards(hand=3, suits=2, ranks=3)
    hands = {tuple(sorted(hand)) for hand in itertools.permutations(range(6), 3)}
    assert bits_of(task) == pytest.approx(math.log2(len(hands)))


@pytest.mark.parametrize("states", [1, 2, 3])
def test_no_way_to_put_hands_into_states_writes_more_of_them_right(states):
    # All ways to put each of the sources into a state; of a state the best single target is laid.
    task = Cards(hand=2, suits=1, ranks=3)
    sources = list(itertools.permutations(range(3), 2))
    best = 0
    for places in itertools.product(range(states), repeat=len(sources)):
        right = 0
        for state in range(states):
            here = [tuple(sorted(s)) for s, at in zip(sources, places, strict=True) if at == state]
            right += max((here.count(target) for target in here), default=0)
        best = max(best, right / len(sources))
    assert best == pytest.approx(min(1.0, states / task.targets()))


# The runs that come with the program.


def test_the_figures_tell_what_the_page_tells():
    longest, widest = HANDS[-1], WIDTHS[-1]
    # The state alone falls short with length, and with a narrow state earlier.
    for width in WIDTHS:
        means = [matched(BOTTLENECK, hand, width).mean() for hand in HANDS]
        assert means == sorted(means, reverse=True)
    for hand in HANDS[:2]:
        means = [matched(BOTTLENECK, hand, width).mean() for width in WIDTHS]
        assert means == sorted(means)
    assert matched(BOTTLENECK, longest, widest).max() < 0.05
    assert matched(ATTENTION, longest, widest).min() > 0.99
    # Fewer weights with attention than without, and more hands.
    narrow, wide = swept(ATTENTION, longest, WIDTHS[-3]), swept(BOTTLENECK, longest, widest)
    assert bottleneck_rows()[narrow].parameters < bottleneck_rows()[wide].parameters
    assert matched(ATTENTION, longest, WIDTHS[-3]).min() > 0.5
    # A state that is too narrow fails with attention too.
    assert matched(ATTENTION, 5, WIDTHS[0]).max() < 0.05


def test_letters_backwards_were_the_same_for_both():
    assert meet_same_data(*map(reversing, FAMILIES))
    alone, attends = (shares_of(reversing(family)) for family in FAMILIES)
    assert (attends > 0.95).all()
    assert (attends - alone > 0.1).all()


# One step of the decoder.


@pytest.mark.parametrize("source", SOURCES)
def test_steps_are_what_the_model_computes(source):
    small = small_model(stepping())
    steps = decoder_steps(small.model, source)
    written = written_by(steps)
    one_hot = jnp.eye(small.model.vocab)
    model = jax.tree.map(jnp.asarray, small.model)
    logits, trace = model.write(one_hot[np.array(source)], one_hot[written[:-1]])
    found = {name: np.array([getattr(step, name) for step in steps]) for name in steps[0]._fields}
    # 64-bit against 32-bit numbers of size 1 to 10.
    close = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(found["logits"], logits, **close)
    np.testing.assert_allclose(found["pattern"], trace.attention[0].pattern[0], **close)
    states = np.concatenate([steps[0].encoded[:-1], steps[0].state[None], found["next_state"]])
    # The trace has no place of its own for the state that is handed over.
    states = np.delete(states, len(source) - 1, axis=0)
    np.testing.assert_allclose(states, trace.values[HIDDEN_STATES], **close)


def test_the_parts_of_a_state_add_up():
    model = small_model(stepping()).model
    for step in decoder_steps(model, SOURCES[0]):
        assert step.probabilities.sum() == pytest.approx(1)
        np.testing.assert_allclose(
            np.tanh(sum(sums_apart(model, step))), step.next_state, rtol=1e-9
        )


def test_the_shipped_steps_show_what_the_page_promises():
    # Fadbe: the largest share moves from the last source token to the first.
    steps = decoder_steps(small_model(stepping()).model, SOURCES[0])
    assert [step.pattern.argmax() for step in steps] == [4, 3, 2, 1, 0]
    assert tuple(written_by(steps)) == SOURCES[0][::-1]


# Alignments.


def sorted_dependence(source, letters):
    """Whether another letter at place i changes the sorted letter j and none before it."""
    target, count = sorted(source), len(source)
    found = np.zeros((count, count), bool)
    for i, letter, j in itertools.product(range(count), range(letters), range(count)):
        other = sorted([*source[:i], letter, *source[i + 1 :]])
        found[j, i] |= other[:j] == target[:j] and other[j] != target[j]
    return found


@pytest.mark.parametrize("source", [(5, 1, 7, 3, 1, 2), (1, 3, 5, 7, 6, 4), (0, 0, 2, 2, 7, 7)])
def test_a_sorted_letter_depends_on_more_than_where_it_is_taken_from(source):
    truth = write_target(aligning("sort", "encoder-decoder"), source)
    assert truth.target.tolist() == sorted(source)
    taken = [[letter == target for letter in source] for target in sorted(source)]
    np.testing.assert_array_equal(truth.alignment, taken)
    np.testing.assert_array_equal(truth.dependence, sorted_dependence(source, 8))


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_a_letter_that_is_carried_over_depends_on_its_own_place_alone(task):
    truth = write_target(aligning(task, "encoder-decoder"), (5, 1, 7, 3, 1, 2))
    diagonal = np.eye(6, dtype=bool)
    np.testing.assert_array_equal(truth.alignment, diagonal if task == "copy" else diagonal[::-1])
    np.testing.assert_array_equal(truth.dependence, truth.alignment)


@pytest.mark.parametrize("task", ALIGNED_TASKS)
def test_the_three_kinds_of_attention_differ_in_who_is_seen(task):
    maps = write_target(aligning(task, "encoder-decoder"), (7, 0, 2, 4, 1, 3)).maps
    assert set(maps) == {"source", "self", "cross"}
    for found in maps.values():
        np.testing.assert_allclose(found.pattern.sum(axis=1), 1, rtol=1e-5)
    assert (maps["source"].pattern > 0).all()
    assert (maps["cross"].pattern > 0).all()
    np.testing.assert_array_equal(maps["self"].pattern > 0, np.tri(6, dtype=bool))
    np.testing.assert_array_equal(maps["self"].mask, np.tri(6, dtype=bool))


def test_solved_models_align_copies_and_reversals():
    for task in ("copy", "reverse"):
        small = small_model(aligning(task, "encoder-decoder"))
        assert small.exact_match > 0.99
        assert small.aligned > 0.9
        found = write_target(small.experiment, (7, 0, 2, 4, 1, 3))
        assert share_aligned(found.maps["cross"].pattern, found.alignment) > 0.8
    assert set(ALIGNED_FAMILIES) == {each.model.name for each in all_small()}


def arrays_of(small):
    return eqx.filter(small.model, eqx.is_array)


def test_small_models_read_back():
    written = json.loads(models_text(map(small_model, all_small())))
    for record, experiment in zip(written, all_small(), strict=True):
        known, again = small_model(experiment), small_models.read_model(record)
        assert again.experiment == known.experiment == experiment
        assert again[2:] == known[2:]
        jax.tree.map(np.testing.assert_array_equal, *map(arrays_of, (again, known)))
        assert len(jax.tree.leaves(arrays_of(known))) > 5
