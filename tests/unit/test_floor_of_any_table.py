"""Over random small tables: nothing that is learned beats the floor but by luck."""

import hypothesis
import hypothesis.strategies as st
import pytest

from attnlab import Experiment, Training, evaluate, prepare, train
from attnlab.generators import Custom
from attnlab.models import AttentionOptions, LinearOptions
from attnlab.optimum import ladder, optimum

# One in two million figures is further off than this many standard errors.
SIGMAS = 5
LENGTH = 3


def row(size):
    """Probabilities in eighths, some of them 0."""
    parts = st.lists(st.integers(0, 8), min_size=size, max_size=size).filter(any)
    return parts.map(lambda found: tuple(part / sum(found) for part in found))


@pytest.mark.slow
@hypothesis.settings(max_examples=3)
@hypothesis.given(
    rows=st.tuples(*[row(3)] * 3), linear=st.booleans(), seed=st.integers(0, 2**31 - 1)
)
def test_no_trained_model_beats_the_floor_of_any_table(rows, linear, seed):
    training = Training(steps=150, data="fresh", batch=50, learning_rate=0.03, test_size=4_000)
    model = LinearOptions() if linear else AttentionOptions(d_attn=3)
    generator = Custom(symbols="a b c", table=rows)
    experiment = Experiment(
        generator=generator, length=LENGTH, model=model, training=training, seed=seed
    )
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    figures = evaluate(last.state.model, setup.test, readout=training.readout)
    best = optimum(generator, LENGTH).final
    # Where the floor is 0 there is no noise either, and rounding is all that is left.
    assert figures.nll >= best.nll - SIGMAS * figures.nll_stderr - 1e-5
    assert figures.accuracy <= best.accuracy + SIGMAS * figures.accuracy_stderr + 1e-6
    # A training that teaches nothing would prove nothing.
    uniform = ladder(generator, LENGTH)[0].best.nll
    assert figures.nll < uniform + 0.05
