"""Results of a run's models over training, computed between redraws of a page."""

import math
import time
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sized
from typing import Any, NamedTuple, TypeVar

import numpy as np

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.session import session
from attnlab.ui.train.cursor import OVER_TRAINING, Moment, is_replaying
from attnlab.ui.train.welcome import draw_preset_choice

Result = TypeVar("Result")

# Between redraws, while a run trains or is replayed.
_SECONDS = 0.5

# While the run trains, a page computes for about this share of the time, and pauses for at most
# this many seconds: the first result takes long to compile, and later ones do not.
_SHARE, _LONGEST_PAUSE = 0.2, 2.0
# Kept models whose results are computed after a run, for this many seconds at each redraw.
_MOST_MODELS, _SECONDS_A_REDRAW = 32, 0.5


def draw_over_training(
    run: LiveRun,
    applies: Callable[[AbstractGenerator], bool],
    otherwise: str,
    draw: Callable[[Snapshot], None],
    missing: Callable[[Snapshot], Sized],
) -> None:
    """Draw results of a run, and redraw them during training and replays.

    Args:
        run: The run.
        applies: Returns whether a process has such results.
        otherwise: Text above the presets that are offered if the selected process has none.
        draw: Draws the results.
        missing: Returns the models that are not measured yet.
    """
    form = read_form()
    if not isinstance(form, OptionError) and not applies(form.generator):
        fitting = {n: p for n, p in PRESETS.items() if applies(p.experiment.generator)}
        draw_preset_choice(f"{otherwise} The current run stays until you press Start.", fitting)
        return
    redraw_over_training(run, draw, missing)


def redraw_over_training(
    run: LiveRun, draw: Callable[[Snapshot], None], missing: Callable[[Snapshot], Sized]
) -> None:
    """Draw results of a run as `draw_over_training` does, whatever process is selected."""

    def waiting_for() -> tuple[bool, ...]:
        snapshot = run.snapshot()
        return snapshot.active, is_replaying(), bool(len(missing(snapshot)))

    draw_while(waiting_for, lambda: draw(run.snapshot()), key=OVER_TRAINING, seconds=_SECONDS)


def course_of(key: str, of: Hashable) -> dict[int, Any]:
    """Return the results by step, kept in the session under `key`.

    `of` is what they depend on, such as the experiment. Those of an earlier one are dropped.
    """
    kept = session().kept.get(key)
    if kept is None or kept[0] != of:
        session().kept[key] = kept = (of, {})
    return kept[1]


def missing_models(known: Container[int], snapshot: Snapshot) -> list[tuple[int, AbstractModel]]:
    """Return at most 32 kept models, without those at `known` steps; none while the run trains.

    The first and the last kept model are among them.
    """
    if snapshot.active:
        return []
    kept = snapshot.history.checkpoints
    chosen = np.linspace(0, len(kept) - 1, min(len(kept), _MOST_MODELS)).round().astype(int)
    return [kept[place] for place in chosen if kept[place][0] not in known]


def without_gaps(
    course: Mapping[int, Result], missing: Iterable[tuple[int, AbstractModel]]
) -> list[tuple[int, Result]]:
    """Return the results by step up to the first missing model: a line would cross that gap."""
    end = min((step for step, _ in missing), default=math.inf)
    return [(step, course[step]) for step in sorted(course) if step < end]


def some_of(missing: Iterable[tuple[int, AbstractModel]]) -> Iterator[tuple[int, AbstractModel]]:
    """Yield missing models for half a second, so that the page stays quick; at least one."""
    until = time.monotonic() + _SECONDS_A_REDRAW
    for each in missing:
        yield each
        if time.monotonic() > until:
            return


class ShownResult(NamedTuple):
    """The result of a model, its step, and until when it is shown while the run trains."""

    result: Any
    step: int
    of: object
    model: AbstractModel
    until: float


def result_shown(
    key: str,
    of: object,
    snapshot: Snapshot,
    moment: Moment,
    compute: Callable[[AbstractModel], Any],
) -> ShownResult:
    """Return the result of the shown model or, while the run trains, of a recent one.

    Args:
        key: The key of the result in the session.
        of: What else the result depends on; another object makes the kept result void.
        snapshot: The state of the run.
        moment: The shown step.
        compute: Computes the result of a model.
    """
    kept: ShownResult | None = session().kept.get(key)
    if kept is not None and kept.of is of:
        is_recent = snapshot.active and moment.is_now and time.monotonic() < kept.until
        if is_recent or kept.model is moment.model:
            return kept
    began = time.monotonic()
    result = compute(moment.model)
    now = time.monotonic()
    until = now + min(_LONGEST_PAUSE, (now - began) * (1 / _SHARE - 1))
    found = session().kept[key] = ShownResult(result, moment.model_step, of, moment.model, until)
    return found
