"""How encodings lay positions out: laws, and figures worked out by hand."""

import math

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.lessons.geometry import (
    closest_pair,
    distances,
    encoding_rows,
    fit_shift,
    met_scores,
    novelty,
    profile,
    shift_rotation,
    similarity,
    wavelengths,
)
from attnlab.positions import POSITIONS, Learned, Rotary, Scalar, Sinusoidal
from tests.unit.position_oracles import TABLES

LENGTH = 40
FEATURED = [name for name in POSITIONS if name not in ("none", "alibi")]


def rows_of(position, *, length=LENGTH, width=8):
    return encoding_rows(position, length=length, width=width)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("length", [1, 64, 65])
def test_rows_are_the_tables_that_models_are_given(name, length):
    # Angles up to 65 in float32 are off by up to 8e-6.
    expected = TABLES[name](length, 5)
    np.testing.assert_allclose(rows_of(POSITIONS[name](), length=length, width=5), expected,
                               atol=1e-5)  # fmt: skip


@pytest.mark.parametrize("shift", [1, 3, 17, 39])
@pytest.mark.parametrize(("width", "base"), [(2, 10_000.0), (8, 10_000.0), (8, 20.0), (32, 50.0)])
def test_a_shift_of_sinusoids_is_one_rotation(width, base, shift):
    position = Sinusoidal(base=base)
    found = shift_rotation(position, rows_of(position, width=width), shift)
    assert found.error < 1e-5
    np.testing.assert_allclose(found.matrix @ found.matrix.T, np.eye(width), atol=1e-12)
    once = shift_rotation(position, rows_of(position, width=width), 1).matrix
    np.testing.assert_allclose(np.linalg.matrix_power(once, shift), found.matrix, atol=1e-9)


def test_an_odd_width_has_no_rotation():
    position = Sinusoidal()
    with pytest.raises(OptionError, match="`width` is 5: odd"):
        shift_rotation(position, rows_of(position, width=5), 1)


def test_least_squares_finds_the_rotation():
    position = Sinusoidal(base=20.0)
    rows = rows_of(position, width=4)
    found = fit_shift(rows, 3)
    assert found.determined
    np.testing.assert_allclose(found.matrix, shift_rotation(position, rows, 3).matrix, atol=1e-5)
    assert found.error < 1e-5


@pytest.mark.parametrize("position", [Scalar(), Learned()], ids=["scalar", "learned"])
def test_no_matrix_shifts_a_scalar_or_a_learned_encoding(position):
    found = fit_shift(rows_of(position), 3)
    assert found.determined
    assert found.error > 0.05


@pytest.mark.parametrize("name", FEATURED)
def test_similarities_and_distances_of_pairs(name):
    rows = rows_of(POSITIONS[name](), length=9, width=6)
    alike, apart = similarity(rows), distances(rows)
    for one, other in np.ndindex(9, 9):
        dot = float(rows[one] @ rows[other])
        norms = math.sqrt(rows[one] @ rows[one]) * math.sqrt(rows[other] @ rows[other])
        assert alike[one, other] == pytest.approx(dot / norms, abs=1e-9)
        assert apart[one, other] == pytest.approx(math.dist(rows[one], rows[other]), abs=1e-9)


def test_the_profile_takes_every_pair_once_by_distance():
    pairs = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 3.0], [5.0, 3.0, 0.0]])
    found = profile(pairs)
    np.testing.assert_array_equal(found.apart, [0, 1, 2])
    np.testing.assert_array_equal(found.mean, [0, 2, 5])
    np.testing.assert_array_equal(found.least, [0, 1, 5])
    np.testing.assert_array_equal(found.most, [0, 3, 5])


@pytest.mark.parametrize("name", ["sinusoidal", "rotary", "scalar"])
def test_where_only_the_distance_counts_the_band_closes(name):
    found = profile(distances(rows_of(POSITIONS[name]())))
    np.testing.assert_allclose(found.least, found.most, atol=1e-5)
    free = profile(distances(rows_of(Learned())))
    assert (free.most - free.least)[1] > 0.5


@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_scores_of_rotary_by_distance(width):
    scores = met_scores(Rotary(base=50.0), length=LENGTH, width=width)
    pairs = width // 2
    # Of an odd width the last component stays, and is 1 in the vector.
    stays = width % 2
    for apart in (0, 1, 7, 39):
        turned = sum(math.cos(apart * 50.0 ** (-i / max(pairs, 1))) for i in range(pairs))
        expected = (turned + stays) / (pairs + stays)
        np.testing.assert_allclose(np.diagonal(scores, apart), expected, atol=1e-5)
        np.testing.assert_allclose(np.diagonal(scores, -apart), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["sinusoidal", "blog-described", "blog-published", "rotary"])
@pytest.mark.parametrize("width", [2, 5, 8])
def test_components_come_round_after_their_wavelength(name, width):
    position = POSITIONS[name](base=2.0)
    waves = wavelengths(position, width)
    rows = rows_of(position, length=64, width=width)
    for component, wave in enumerate(waves):
        values = rows[:, component]
        # A wave v of period p obeys v(t + 1) + v(t - 1) = 2 cos(2π/p) v(t).
        rest = values[2:] + values[:-2] - 2 * math.cos(2 * math.pi / wave) * values[1:-1]
        assert np.abs(rest).max() < 5e-5
    assert wavelengths(Scalar(), width) is None


def test_the_closest_pair():
    rows = np.array([[0.0], [5.0], [6.0], [10.0]])
    found = closest_pair(rows)
    assert (found.one, found.other, found.distance) == (1, 2, 1.0)
    assert found.typical == pytest.approx(math.sqrt((25 + 36 + 100 + 1 + 25 + 16) / 6))
    assert (found.ties, found.lag) == (1, None)


@pytest.mark.parametrize(("length", "width"), [(40, 8), (64, 2), (30, 4), (64, 16)])
def test_pairs_equally_far_apart_in_time_are_equally_alike(length, width):
    # |row(t + k) - row(t)|² is the sum of 2 - 2 cos(k ω) over the pairs of components, for every t.
    speeds = [10_000.0 ** (-2 * i / width) for i in range(width // 2)]
    squares = [sum(2 - 2 * math.cos(k * w) for w in speeds) for k in range(1, length)]
    lag = 1 + squares.index(min(squares))
    found = closest_pair(rows_of(Sinusoidal(), length=length, width=width))
    assert (found.lag, found.ties) == (lag, length - lag)
    assert found.distance == pytest.approx(math.sqrt(min(squares)), rel=1e-4)


def test_later_rows_are_as_new_as_their_nearest_trained_one():
    rows = rows_of(Scalar(period=10.0), length=12)
    np.testing.assert_allclose(
        novelty(rows, 5), [0] * 5 + [0.1 * k for k in range(1, 8)], atol=1e-6
    )
