"""Live runs are kept while they train and when they rest, each in one place."""

import numpy as np
import pytest

import attnlab.live.progress
import attnlab.training.loop
from attnlab.live.progress import Autosave
from attnlab.runs.storage import from_bytes, to_bytes
from tests.unit.live_runs import LONG, PATIENCE, finished, paused_after, until
from tests.unit.small_experiments import SMALL, small


class Kept(list):
    """Results as they were kept, each with what was given for the same run before."""

    def __call__(self, result, before):
        self.append((result, before))
        return before or f"place {len(self)}"

    @property
    def calls(self):
        return [(result.state, result.steps, before) for result, before in self]


@pytest.fixture
def kept():
    return Kept()


def test_a_run_is_kept_when_it_ends_with_all_that_it_came_to(live, kept):
    run = live(keep=kept)
    seen = finished(run)
    ((result, before),) = kept
    assert (result.state, result.steps, before) == ("done", 60, None)
    assert result.evaluation == seen.latest.evaluation
    assert result.tests == seen.history.tests
    assert result.parameters == seen.parameters
    assert result.seconds > 0
    np.testing.assert_array_equal(result.run.history.losses, seen.history.losses)
    assert run.autosave.kept == "place 1"


def test_every_pause_goes_to_the_same_place(live, kept):
    run = live(keep=kept)
    paused_after(run, 2)
    paused_after(run, 1)
    finished(run)
    assert kept.calls == [
        ("interrupted", 2, None),
        ("interrupted", 3, "place 1"),
        ("done", 60, "place 1"),
    ]


def test_what_made_no_step_is_not_kept(live, kept, held):
    run = live(keep=kept)
    run.start()
    run.pause()
    held.set()
    assert run.wait(PATIENCE)
    assert run.snapshot().latest.step == 0
    assert kept == []


def test_a_pause_without_a_new_step_is_not_kept_again(live, kept):
    run = live(keep=kept)
    paused_after(run, 2)
    run.start()
    run.pause()
    assert run.wait(PATIENCE)
    assert len({steps for _, steps, _ in kept.calls}) == len(kept)


def test_it_is_kept_now_and_then_while_it_trains(live, kept, monkeypatch):
    monkeypatch.setattr(attnlab.live.progress, "_AUTOSAVE_SECONDS", 0.0)
    run = live(LONG, keep=kept)
    run.start()
    until(lambda: len(kept) >= 3)
    run.pause()
    assert run.wait(PATIENCE)
    steps = [steps for _, steps, _ in kept.calls]
    assert steps == sorted(set(steps))
    assert all(result.steps == result.run.state.step for result, _ in kept)
    # The test that it is kept with is of the weights that it is kept with.
    assert all(result.evaluation == result.tests[-1][1] for result, _ in kept
               if result.tests[-1][0] == result.steps)  # fmt: skip


def test_not_before_its_time():
    now = [0.0]
    autosave = Autosave(lambda result, before: None, clock=lambda: now[0])
    assert not autosave.is_due()
    now[0] = 10.0
    assert autosave.is_due()
    autosave.take(lambda: None)
    assert not autosave.is_due()
    assert not Autosave(clock=lambda: now[0]).is_due()


def test_another_run_has_another_place(live, kept):
    run = live(keep=kept)
    paused_after(run, 2)
    run.reset()
    paused_after(run, 1)
    assert kept.calls == [("interrupted", 2, None), ("interrupted", 1, None)]


def test_a_run_that_is_reset_while_it_trains_is_kept(live, kept):
    run = live(LONG, keep=kept)
    run.start()
    until(lambda: run.snapshot().step > 0)
    made = run.autosave
    until(lambda: (run.snapshot().latest.step) > 0)
    run.reset(small(seed=5))
    until(lambda: made.kept is not None)
    ((result, _),) = kept
    assert result.state == "interrupted"
    assert result.experiment == LONG
    assert 0 < result.steps == int(result.run.state.step)


def test_a_stored_run_is_kept_once_it_goes_on(live, kept):
    first = live()
    paused_after(first, 2)
    run = live(keep=kept)
    run.resume(from_bytes(to_bytes(first.stored())))
    assert run.wait(PATIENCE)
    assert kept == []
    finished(run)
    assert kept.calls == [("done", 60, None)]


def test_a_stored_run_goes_on_where_it_was_kept(live, kept):
    first = live(keep=kept)
    paused_after(first, 2)
    run = live(keep=kept)
    run.resume(first.stored(), autosave=first.autosave, seconds=100.0)
    finished(run)
    assert kept.calls[-1] == ("done", 60, "place 1")
    assert kept[-1][0].seconds > 100


def test_a_failure_is_kept_with_its_reason(live, kept, monkeypatch):
    def advance(state, source, training, *, key, steps):
        if int(state.step) + steps > 7:
            raise RuntimeError("no more memory")
        return real(state, source, training, key=key, steps=steps)

    real = attnlab.training.loop.advance
    monkeypatch.setattr(attnlab.training.loop, "advance", advance)
    run = live(keep=kept)
    for _ in range(5):
        run.step()
    assert run.wait(PATIENCE)
    run.start()
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "failed"
    assert [state for state, _, _ in kept.calls] == ["interrupted", "failed"]
    assert "no more memory" in kept[-1][0].reason


def test_what_cannot_be_kept_trains_on(live, caplog):
    def keep(result, before):
        raise OSError("no space left")

    run = live(SMALL, keep=keep)
    assert finished(run).state == "done"
    assert run.autosave.kept is None
    assert "was not saved" in caplog.text
