"""The pace of training by clocks that stand still, jump, or run."""

import itertools
import math
import time

import hypothesis
import pytest
from hypothesis import strategies as st

from attnlab.live.progress import Pace
from attnlab.training.steps import CHUNK_CAPACITY

HOUR = 3600.0


def clock_of(differences):
    """A clock whose readings differ by these seconds, and then by nothing."""
    readings = itertools.accumulate(itertools.chain(differences, itertools.repeat(0.0)))
    return lambda: next(readings)


def test_a_chunk_is_as_long_as_its_time_allows():
    # Readings: begin, before and after each chunk of 10 steps that took 0.1 s.
    pace = Pace(0, clock_of([0.0, 0.0, 0.1, 0.0]))
    pace.begin_chunk()
    pace.end_chunk(10)
    assert pace.chunk == 7
    assert pace.steps_per_second(10) == pytest.approx(100.0)


def test_a_limit_is_kept_by_waiting_and_a_look_comes_before_the_wait():
    # Readings: made; begin; before and after a chunk; rest; the look; rest.
    pace = Pace(0, clock_of([0.0, 1.0, 0.1, 0.0, 0.0, 0.2, 0.0]))
    pace.limit = 1.0
    pace.begin_chunk()
    pace.end_chunk(1)
    assert pace.chunk == 1
    assert pace.evaluation_is_due()
    assert pace.rest() == 0.0
    pace.end_evaluation()
    # The step began 0.1 s before it was done; the look took what is left out here.
    assert 0.0 < pace.rest() <= 0.9


@pytest.mark.parametrize(("limit", "chunk"), [(1.0, 1), (10.0, 1), (100.0, 10), (None, 512)])
def test_a_limited_run_is_seen_often(limit, chunk):
    pace = Pace(0, clock_of([0.0, 0.0, 0.15]))
    pace.limit = limit
    pace.begin_chunk()
    pace.end_chunk(CHUNK_CAPACITY)
    assert pace.chunk == chunk


@hypothesis.given(
    st.lists(st.sampled_from([0.0, 1e-9, 0.05, 1.0, HOUR, -HOUR, 9 * HOUR]), max_size=60)
)
def test_no_clock_can_break_it(differences):
    pace, step = Pace(0, clock_of(differences)), 0
    for _ in range(10):
        pace.begin_chunk()
        pace.end_chunk(pace.chunk)
        step += pace.chunk
        assert 1 <= pace.chunk <= CHUNK_CAPACITY
        if pace.evaluation_is_due():
            pace.end_evaluation()
        speed = pace.steps_per_second(step)
        assert math.isfinite(speed)
        assert speed >= 0


def test_a_chunk_that_seemed_to_take_hours_does_not_slow_the_next_ones_for_ever():
    pace = Pace(0, clock_of([0.0, 0.0, HOUR, 0.0, *([0.0, 0.001, 0.0] * 20)]))
    for _ in range(12):
        pace.begin_chunk()
        pace.end_chunk(pace.chunk)
    assert pace.chunk > 50


def test_a_run_goes_on_when_the_time_of_day_jumps(monkeypatch, live):
    run, real = live(), time.time
    jumps = itertools.count()
    monkeypatch.setattr(time, "time", lambda: real() - 5 * HOUR * next(jumps))
    run.start()
    assert run.wait(60.0)
    seen = run.snapshot()
    assert (seen.state, seen.step) == ("done", 60)
    assert math.isfinite(seen.steps_per_second)
    assert seen.steps_per_second > 0
