"""Results of a run's models over training, computed between redraws of a page."""

import math
import time
from collections.abc import Callable, Hashable, Sized
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.film import MOST_MEASURED, some
from attnlab.generators import AbstractGenerator
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.figures import Pending, waiting
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.session import session
from attnlab.ui.train.cursor import OVER_TRAINING, Moment, with_starting_point
from attnlab.ui.train.film_panel import has_shipped_film
from attnlab.ui.train.tabs import TABS, VIEW, Tab
from attnlab.ui.train.welcome import draw_preset_choice

Result = TypeVar("Result")

# While the run trains, a page computes for about this share of the time, and pauses for at most
# this many seconds: the first result takes long to compile, and later ones do not.
_SHARE, _LONGEST_PAUSE = 0.2, 2.0
# After a run, results of kept models are computed for this many seconds at each redraw.
_SECONDS_A_REDRAW = 0.5


class Course(Generic[Result]):
    """Results of a run's kept models by step, kept in the session until another run is shown.

    Args:
        key: The key of the results in the session.
        snapshot: The state of the run.
        of: What else the results depend on.
        is_complete: Whether a result has all that is wanted.
    """

    def __init__(
        self,
        key: str,
        snapshot: Snapshot,
        of: Hashable = None,
        is_complete: Callable[[Result], bool] = lambda result: True,
    ):
        kept, subject = session().kept, (snapshot.experiment, of)
        if key not in kept or kept[key][0] != subject:
            kept[key] = subject, {}
        self.results: dict[int, Result] = kept[key][1]
        self._snapshot, self._is_complete = snapshot, is_complete

    def missing(self) -> list[tuple[int, AbstractModel]]:
        """Return at most 32 kept models, without those whose result is known.

        The first and the last kept model are among the 32. While the run trains, none is missing.
        """
        if self._snapshot.active:
            return []
        kept = some(self._snapshot.history.checkpoints, MOST_MEASURED)
        return [each for each in kept if not self._knows(each[0])]

    def _knows(self, step: int) -> bool:
        return step in self.results and self._is_complete(self.results[step])

    def compute_some(self, compute: Callable[[int, AbstractModel], Result]) -> None:
        """Compute missing results for half a second, so that the page stays quick; at least one.

        `compute` takes a step and its model.
        """
        until = time.monotonic() + _SECONDS_A_REDRAW
        for step, model in self.missing():
            self.results[step] = compute(step, model)
            if time.monotonic() > until:
                return

    def curve(self) -> list[tuple[int, Result]]:
        """Return the results by step up to the first missing one: a line would cross that gap."""
        end = min((step for step, _ in self.missing()), default=math.inf)
        return [(step, self.results[step]) for step in sorted(self.results) if step < end]


def draw_presets_of_tab() -> None:
    """Offer presets of the chosen tab if it says nothing of the process of the controls."""
    tab = TABS[st.session_state[VIEW]]
    process = _process_without(tab)
    if process is not None:
        draw_preset_choice(
            f"**The selected process {tab.lacked_by(process)}.** Choose one of these, or another "
            "process at the left. The current run stays until you press Start.",
            {n: p for n, p in PRESETS.items() if tab.applies(p.experiment.generator)},
        )


def _process_without(tab: Tab) -> AbstractGenerator | None:
    """Return the selected process if it lacks what the tab shows."""
    form = read_form()
    if isinstance(form, OptionError) or tab.applies(form.generator):
        return None
    return form.generator


def draw_over_training(
    run: LiveRun,
    tab: Tab,
    draw: Callable[[Snapshot], None],
    missing: Callable[[Snapshot], Sized] = lambda snapshot: (),
    *,
    seconds: float = 0.5,
) -> None:
    """Draw a tab for a run, and redraw it during training; nothing for other processes.

    Args:
        run: The run.
        tab: The tab.
        draw: Draws the tab. It may raise `Pending` or `OptionError`.
        missing: Returns the models that are not measured yet.
        seconds: Interval between redraws.
    """
    if _process_without(tab) is not None:
        return

    def waiting_for() -> tuple[bool, ...]:
        snapshot = run.snapshot()
        return snapshot.active, bool(len(missing(snapshot)))

    def draw_if_it_applies() -> None:
        snapshot = run.snapshot()
        if has_shipped_film(snapshot):  # Its model may take long to build.
            return
        if not tab.applies(process := snapshot.experiment.generator):
            st.caption(
                f"The current run's process {tab.lacked_by(process)}. Press **Start** to train on "
                "the selected process."
            )
            return
        try:
            with waiting():
                draw(snapshot)
        except OptionError as error:
            st.caption(str(error))

    draw_while(waiting_for, draw_if_it_applies, key=OVER_TRAINING, seconds=seconds)


def with_model(snapshot: Snapshot) -> Snapshot:
    """Return the state of a run with a model, before training the untrained one.

    Raises:
        Pending: If there is no model yet.
    """
    with st.spinner("Building the untrained model …"):
        snapshot = with_starting_point(snapshot)
    if snapshot.latest is None or snapshot.probes is None:
        raise Pending("Preparing the run …")
    return snapshot


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
