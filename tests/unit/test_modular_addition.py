"""Modular addition: every pair in training or test, exact floors, and Fourier components."""

import itertools

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import ModularAddition
from attnlab.inspection import fourier_circle, fourier_power
from attnlab.optimum import baselines_of, optimum
from attnlab.training.experiment import Experiment, draw_data
from attnlab.training.steps import Training

P = 11


def pairs(train_size):
    sizes = {"train_size": train_size, "test_size": 100}
    return Experiment(generator=ModularAddition(p=P), training=Training(split="distinct", **sizes))


def test_training_and_test_are_all_pairs_once_with_their_sums():
    drawn = draw_data(pairs(P**2 - 100))
    assert (len(drawn.test), len(drawn.train_set)) == (100, P**2 - 100)
    rows = np.concatenate([drawn.test, drawn.train_set]).tolist()
    every = [[a, b, P, (a + b) % P] for a, b in itertools.product(range(P), repeat=2)]
    assert sorted(rows) == every
    assert drawn.probes.tolist() == drawn.test[:32].tolist()


def test_more_pairs_than_there_are_is_refused():
    with pytest.raises(OptionError, match="`split` is 'distinct': the process has too few"):
        draw_data(pairs(P**2 - 99))


def test_the_sum_is_certain_and_without_the_numbers_it_is_uniform():
    found = optimum(ModularAddition(p=7), 3)
    assert found.exact
    assert [best.nll for best in found.by_position] == pytest.approx(
        [np.log(7), np.log(7), 0, 0], abs=1e-6
    )
    assert found.final.accuracy == pytest.approx(1)
    below = {each.name: each.best.nll for each in baselines_of(ModularAddition(p=7), 3)}
    assert [below[name] for name in ("unigram", "order-1", "order-2")] == pytest.approx(
        [np.log(7)] * 3, abs=1e-6
    )


@pytest.mark.parametrize(("numbers", "frequency"), [(11, 3), (12, 5), (12, 6)])
def test_a_planted_circle_has_all_power_at_its_frequency(numbers, frequency):
    angles = 2 * np.pi * frequency * np.arange(numbers) / numbers
    circle = np.stack([np.cos(angles), np.sin(angles + (2 * frequency == numbers))], axis=1)
    rotated = circle @ np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0][:2] + 1.0
    power = fourier_power(rotated)
    assert power[frequency - 1] == pytest.approx(1)
    assert power.sum() == pytest.approx(1)


def test_power_is_that_of_projections_on_sines_and_cosines():
    embedding = np.random.default_rng(1).normal(size=(8, 3))
    centred, found = embedding - embedding.mean(axis=0), []
    for frequency in (1, 2, 3, 4):
        waves = [f(2 * np.pi * frequency * np.arange(8) / 8) for f in (np.cos, np.sin)]
        units = [wave / np.linalg.norm(wave) for wave in waves if np.linalg.norm(wave) > 1e-9]
        found.append(sum(((unit @ centred) ** 2).sum() for unit in units))
    np.testing.assert_allclose(fourier_power(embedding), np.array(found) / (centred**2).sum())


def test_numbers_lie_on_the_circle_of_their_frequency():
    angles = 2 * np.pi * 2 * np.arange(7) / 7
    wave = np.stack([np.cos(angles), np.sin(angles), np.ones(7)], axis=1)
    found = fourier_circle(wave, 2)
    np.testing.assert_allclose(found, wave[:, :2], atol=1e-12)
