"""Reference predictors: each rung by enumeration, and in the right order for any process."""

import itertools

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from attnlab.generators import Custom, HiddenMarkov, Markov
from attnlab.optimum import baselines_of, optimum
from attnlab.optimum.baselines import best_linear
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import NAMES, case

# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 2e-6

every_case = pytest.mark.parametrize("name", NAMES)


def rungs_of(name):
    generator, length, joint = case(name)
    return {rung.name: rung.best for rung in baselines_of(generator, length)}, joint


def assert_in_order(rungs, best):
    """Nothing beats the optimum, and knowing more never hurts."""
    names = list(rungs)
    assert names[0] == "uniform"
    assert names[-2:] == ["linear", "optimal"]
    assert rungs["optimal"] == best
    for rung in rungs.values():
        assert rung.nll >= best.nll - 1e-6
        assert rung.accuracy <= best.accuracy + 1e-6
    for less, more in itertools.pairwise(names[:-2]):
        assert rungs[more].nll <= rungs[less].nll + 1e-6
        assert rungs[more].accuracy >= rungs[less].accuracy - 1e-6
    assert best.nll - 1e-6 <= rungs["linear"].nll <= rungs["unigram"].nll + 1e-6


@every_case
def test_every_order_agrees_with_enumeration(name):
    rungs, joint = rungs_of(name)
    visible = joint.ndim - 1
    assert list(rungs) == [
        "uniform", "unigram", *(f"order-{k}" for k in range(1, min(4, visible) + 1)), "linear",
        "optimal",
    ]  # fmt: skip
    # A uniform guess knows the number of tokens only.
    assert rungs["uniform"].nll == pytest.approx(np.log(joint.shape[-1]))
    assert rungs["uniform"].accuracy == pytest.approx(1 / joint.shape[-1])
    for days, rung in enumerate(["unigram", *(r for r in rungs if r.startswith("order"))]):
        seen = oracles.last_days(joint, days + 1)
        assert rungs[rung].nll == pytest.approx(oracles.floor(seen), abs=CLOSE)
        assert rungs[rung].accuracy == pytest.approx(oracles.ceiling(seen), abs=CLOSE)
        assert rungs[rung].exact


@pytest.mark.parametrize(
    "name",
    ["recall", "ndays-3", "dotmod-5", "hmm-forbidding", "custom-pairs", "custom-two-islands"],
)
def test_the_best_linear_loss_agrees_with_another_minimiser(name):
    generator, length, joint = case(name)
    # Where something is impossible the least loss lies at infinity, and L-BFGS stops on the way.
    close = 1e-5 if joint.min() > 0 else 1e-4
    found = best_linear(generator, length)
    assert found.exact
    assert found.nll == pytest.approx(oracles.least_linear_loss(joint), abs=close)


@pytest.mark.parametrize("name", ["markov", "ndays-1", "custom", "custom-cycle", "dotmod-2"])
def test_for_processes_that_are_linear_the_best_linear_is_optimal(name):
    rungs, _ = rungs_of(name)
    assert rungs["linear"].nll == pytest.approx(rungs["optimal"].nll, abs=1e-5)
    assert rungs["linear"].accuracy == pytest.approx(rungs["optimal"].accuracy, abs=1e-5)


@pytest.mark.parametrize("name", ["recall", "dotmod-published-3", "custom-pairs"])
def test_for_others_it_is_not(name):
    rungs, _ = rungs_of(name)
    assert rungs["optimal"].nll + 1e-3 < rungs["linear"].nll < rungs["uniform"].nll


def row(size):
    """Probabilities in eighths, some of them 0."""
    parts = st.lists(st.integers(0, 8), min_size=size, max_size=size).filter(any)
    return parts.map(lambda found: tuple(part / sum(found) for part in found))


def table(rows, columns):
    return st.tuples(*[row(columns)] * rows)


# Made in the test, since shape checks draw at random, which strategies may not.
recipes = st.one_of(
    st.tuples(
        st.just(Markov), st.fixed_dictionaries({"initial": row(3), "transition": table(3, 3)})
    ),
    st.tuples(
        st.just(HiddenMarkov),
        st.fixed_dictionaries({"initial": row(2), "moving": table(2, 2), "showing": table(2, 3)}),
    ),
    st.tuples(
        st.just(Custom),
        st.fixed_dictionaries(
            {"symbols": st.just("a b"), "order": st.just(2), "table": table(4, 2)}
        ),
    ),
    st.tuples(
        st.just(Custom),
        st.fixed_dictionaries({"symbols": st.just("a b c d"), "table": table(4, 4)}),
    ),
)


@pytest.mark.slow
@hypothesis.settings(max_examples=8)
@hypothesis.given(recipe=recipes, length=st.integers(2, 4))
def test_the_rungs_of_any_process_are_in_order(recipe, length):
    kind, tables = recipe
    generator = kind(**tables)
    rungs = {rung.name: rung.best for rung in baselines_of(generator, length)}
    assert all(np.isfinite([best.nll, best.accuracy]).all() for best in rungs.values())
    assert_in_order(rungs, optimum(generator, length).final)


@hypothesis.settings(max_examples=8)
@hypothesis.given(order=st.integers(1, 2), data=st.data())
def test_the_optimum_of_any_table_agrees_with_enumeration(order, data):
    rows = data.draw(table(3**order, 3))
    joint = oracles.table_joint(rows, order, 4)
    found = optimum(Custom(symbols="a b c", order=order, table=rows), 3)
    for day, best in enumerate(found.by_position, start=1):
        so_far = oracles.first_days(joint, day)
        assert best.nll == pytest.approx(oracles.floor(so_far), abs=CLOSE)
        assert best.accuracy == pytest.approx(oracles.ceiling(so_far), abs=CLOSE)


# No linear predictor is right, and the weights of one that avoids the impossible grow for ever.
IMPOSSIBLE = Markov(transition=((0.8, 0.2, 0.0), (0.3, 0.3, 0.4), (0.1, 0.4, 0.5)))


def test_a_search_that_weights_leave_to_infinity_is_stopped_and_says_so():
    rungs = {rung.name: rung.best for rung in baselines_of(IMPOSSIBLE, 7)}
    assert rungs["linear"].bounded
    assert not rungs["linear"].exact
    assert_in_order(rungs, optimum(IMPOSSIBLE, 7).final)
    assert not any(best.bounded for name, best in rungs.items() if name != "linear")


@pytest.mark.parametrize("generator", [Markov(), Custom()], ids=["markov", "custom"])
def test_a_search_without_impossible_tokens_converges(generator):
    assert best_linear(generator, 4).exact
