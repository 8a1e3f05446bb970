"""The parts of the gap to the floor: they sum to it, and vanish where theory says so."""

import dataclasses

import pytest

from attnlab.generators import Recall
from attnlab.inspection.ledger import PARTS, gap_ledger
from attnlab.optimum import optimum
from attnlab.optimum.baselines import best_linear
from attnlab.training.experiment import prepare
from attnlab.training.law import evaluate_law, prepare_law
from attnlab.training.loop import train
from tests.unit.small_experiments import SMALL_LINEAR, SMALL_TRANSFORMER, small


def ledgers_of(experiment):
    """The ledgers of a finished run, and its expected loss minus the floor."""
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    law = prepare_law(experiment.generator, experiment.length)
    loss = evaluate_law(last.state.model, law, readout="last").nll
    found = gap_ledger(experiment, last.state.model, step=experiment.training.steps)
    return [each for each in found if each.parts], loss - law.floor


@pytest.mark.slow
@pytest.mark.parametrize("data", ["fixed", "fresh", "law"])
def test_the_parts_sum_to_the_gap_and_a_family_with_the_law_costs_nothing(data):
    ledgers, gap = ledgers_of(small(SMALL_LINEAR, data=data))
    for ledger in ledgers:
        assert [each.part for each in ledger.parts] == list(PARTS)
        assert sum(each.nats for each in ledger.parts) == pytest.approx(gap, abs=1e-6)
    data_part, optimisation, family = (each.nats for each in ledgers[-1].parts)
    assert (data_part == 0) == (data != "fixed")
    assert optimisation > 0
    # The law of a chain is linear in the last token.
    assert -1e-6 < family < 1e-4
    assert ledgers[-1].done == 1


@pytest.mark.slow
def test_few_sequences_cost_most_if_they_are_memorised():
    memorised = small(SMALL_LINEAR, batch_mode="full", train_size=10, steps=600)
    ledgers, gap = ledgers_of(memorised)
    data_part, *_ = (each.nats for each in ledgers[-1].parts)
    assert data_part > 0.5 * gap > 0.05


@pytest.mark.slow
def test_later_ledgers_have_better_weights():
    ledgers, _ = ledgers_of(small(SMALL_TRANSFORMER, data="law", loss="next"))
    costs = [ledger.parts[-1].nats for ledger in ledgers]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.slow
def test_the_cost_of_the_linear_family_is_that_of_its_convex_optimum():
    experiment = dataclasses.replace(
        small(SMALL_LINEAR, data="law"), generator=Recall(days=(1, 4)), length=4
    )
    ledgers, _ = ledgers_of(experiment)
    process = experiment.generator
    cost = best_linear(process, 4).nll - optimum(process, 4).final.nll
    assert cost > 0.01
    assert ledgers[-1].parts[-1].nats == pytest.approx(cost, abs=2e-5)
