"""The parts that the Train and Sequence to sequence pages share: controls, buttons, live charts.

The order on screen is fixed: elements that come and go are below the charts.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.configuration.options import OptionError, present
from attnlab.inspection import WhatHappened, in_words
from attnlab.inspection.advice import Advice, advice_for
from attnlab.inspection.what_happened import happened_in
from attnlab.live.live_run import LiveRun
from attnlab.models import Trace
from attnlab.models.inside import mean_trace
from attnlab.optimum import dependence, informative_positions, ladder
from attnlab.runs.script import to_script
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form import draw_form, draw_form_problem
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.controls.lesson_controls import open_lesson
from attnlab.ui.controls.link_bar import draw_link_panel
from attnlab.ui.core.display import draw_button, on_dark
from attnlab.ui.core.example_run import draw_example_note, readable_example_run
from attnlab.ui.core.figures import figure
from attnlab.ui.core.fragments import draw_in_code, draw_while
from attnlab.ui.core.outside import as_message, draw_error
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_run
from attnlab.ui.library.place import (
    draw_continue_offer,
    draw_library_problem,
    show_save_problem,
)
from attnlab.ui.train.cursor import (
    LIVE,
    Moment,
    advance_replay,
    draw_replay,
    draw_scrubber,
    is_replaying,
    shown_moment,
    with_starting_point,
)
from attnlab.ui.train.figures_panel import draw_figures, draw_findings, draw_headline, draw_prospect
from attnlab.ui.train.inside.panel import (
    draw_inside,
    draw_inside_choice,
    draw_preparing,
    draw_sequence_choice,
    inside_of,
)
from attnlab.ui.train.inside.shown import MEAN, Choice, Shown
from attnlab.ui.train.loss_panel import (
    draw_axis_choice,
    draw_loss,
    draw_reference_choice,
    draw_target,
)
from attnlab.ui.train.measures_panel import training_accuracy
from attnlab.ui.train.repeat import draw_curve_choice, draw_repeat, repeat_progress
from attnlab.ui.train.runs_panel import draw_files, draw_runs
from attnlab.ui.train.task import draw_task, final_sources, picture_of, true_probs
from attnlab.ui.train.transport import (
    apply_commands,
    draw_amend,
    draw_status,
    draw_transport,
    whose_figures,
)
from attnlab.ui.train.walk import note_advice, walk_of
from attnlab.ui.train.welcome import draw_welcome


def draw_live(run: LiveRun, form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Draw everything that changes, four times a second while the run trains or is replayed.

    Args:
        run: The current run.
        form: The experiment that the controls describe, or why it cannot run.
        snapshot: The state that the buttons show. If the run has ended since, the page is rerun.
    """

    def moves(now: Snapshot) -> tuple[bool, ...]:
        is_active = now.active and not now.in_queue
        return (is_active, is_replaying()) if is_active or is_replaying() else ()

    draw_while(
        lambda: moves(run.snapshot()),
        lambda: _draw(run, form),
        key=LIVE,
        seconds=0.25,
        waited=moves(snapshot),
    )
    # Nothing else changes while the run waits, and many pages may wait for the same run.
    draw_while(
        lambda: _waits(run.snapshot()),
        lambda: None,
        key="turn",
        seconds=1.0,
        waited=_waits(snapshot),
    )
    # Rerun the whole page after each repeated run, since the table of runs shows the results too.
    draw_while(repeat_progress, lambda: None, key="repeated", waited=repeat_progress())


def _waits(now: Snapshot) -> str:
    """Return what the run waits for in the queue, or ""."""
    return now.message if now.in_queue else ""


def _draw(run: LiveRun, form: Experiment | OptionError) -> None:
    snapshot = run.snapshot()
    show_save_problem()
    advance_replay(snapshot)
    # Always drawn, with height zero, so that nothing below moves.
    with st.container(key="building"), st.spinner("Building the untrained model …"):
        seen = with_starting_point(snapshot)
    moment = None if seen.latest is None else shown_moment(seen)
    informative = _informative(snapshot.experiment)
    own, chosen = whose_figures(form, snapshot)
    with st.container(gap="xxsmall"):
        # Containers first: what they hold depends on the controls below.
        with st.container(horizontal=True, gap="medium", key="top"):
            with st.container(gap="xxsmall", key="words"):
                task = st.container(gap="xxsmall", key="task")
                _draw_state(run, form, snapshot, seen, moment, own, chosen)
            curve = st.container(key="curve", border=False)
        inside = st.container(key="inside", border=False)
        controls = st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", key="moment"
        )
        sentence = st.container(key="what_happened")
    below = st.container(gap="small")
    with controls:
        draw_replay(seen)
        with st.container(width="stretch"):
            draw_scrubber(seen)
        if moment is None:
            within, choice = None, Choice()
        else:
            sequence = draw_sequence_choice(seen)
            within = inside_of(moment.model, seen, sequence)
            choice = Choice(sequence, *draw_inside_choice(within))
    with sentence:
        # Without valid settings, the error beside the buttons says what to do.
        if isinstance(form, Experiment) or snapshot.state != "idle":
            mean = within.trace if within and choice.sequence == MEAN else None
            _draw_words(form, snapshot, seen, moment, informative, mean)
    with below:
        reading = st.container()
        draw_findings(form)
        if moment is not None:
            draw_figures(seen, moment.evaluation, training_accuracy(run, seen, moment))
        with st.container(horizontal=True, vertical_alignment="center", gap="large"):
            logarithmic = draw_axis_choice()
            rungs = draw_reference_choice(seen)
            over_seeds = draw_curve_choice(seen.experiment)
            draw_target(run, seen)
    days = _marked(seen, choice, informative)
    with task:
        _draw_task(seen, moment, choice, days)
    cursor = None if moment is None or moment.is_now else moment.step
    if within is not None:
        session().single_map = choice.view == "attention" and len(choice.heads) == 1
    walk = walk_of(run, seen, None if moment is None else moment.evaluation)
    # The style sheet gives the chart the height that a single map and the walk leave.
    place = ("tall_curve" if session().single_map else "low_curve") + ("_and_walk" if walk else "")
    with curve, st.container(key=place):
        if not draw_welcome():
            past = [each for each in session().past_runs if each.experiment != seen.experiment]
            draw_loss(seen, rungs, cursor, past, over_seeds, logarithmic=logarithmic)
            if walk:
                text, error = walk
                with st.container(key="walk"):
                    st.markdown(text, help=error)
    with inside:
        if within is None:
            draw_preparing()
            return
        at_rest = present(moment).is_now and not snapshot.active
        how = draw_inside(Shown(seen, within, choice, days, at_rest, on_dark()))
    with reading:
        st.caption(how)


def _draw_state(
    run: LiveRun,
    form: Experiment | OptionError,
    snapshot: Snapshot,
    seen: Snapshot,
    moment: Moment | None,
    own: str,
    chosen: str,
) -> None:
    """Draw the run's state and result, and below it what the settings of the controls allow."""
    line = {"horizontal": True, "vertical_alignment": "center", "gap": "small"}
    with st.container(**line, key="state"):
        draw_status(snapshot, None if moment is None or moment.is_now else moment.step)
        draw_continue_offer(run)
        with st.container(**line, key="seeds", width="content"):
            draw_repeat(form, snapshot)
    with st.container(key="prospect"):
        if not draw_amend(form, snapshot):
            with st.container(
                horizontal=True, vertical_alignment="center", gap="xsmall", key="best"
            ):
                if moment is not None and snapshot.state not in ("idle", "compiling"):
                    draw_headline(seen, moment.evaluation, own)
                is_started = snapshot.state != "idle" and not chosen
                draw_prospect(form, chosen, is_started=is_started)


def _draw_task(
    seen: Snapshot, moment: Moment | None, choice: Choice, informative: tuple[int, ...]
) -> None:
    picture = None
    if seen.probes is not None:
        tokens = seen.probes[0 if choice.sequence == MEAN else int(choice.sequence)]
        model = None if moment is None else moment.model
        true = figure(true_probs, seen.experiment.generator, tuple(map(int, tokens)))
        picture = picture_of(seen.experiment, tokens, informative, model, true)
    draw_task(seen.experiment, picture)


def _informative(experiment: Experiment) -> np.ndarray | None:
    process, length = experiment.generator, experiment.length
    if final_sources(process, (0,) * length) is not None:
        # Each sequence has its own sources, so no position matters in all of them.
        return np.zeros(length, bool)
    true = figure(dependence, process, length)
    return None if true is None else informative_positions(true)


def _marked(seen: Snapshot, choice: Choice, informative: np.ndarray | None) -> tuple[int, ...]:
    """Return the positions, from 1, that the final prediction in the shown maps depends on."""
    if seen.probes is not None and choice.sequence != MEAN:
        tokens = tuple(map(int, seen.probes[int(choice.sequence)]))
        sources = final_sources(seen.experiment.generator, tokens)
        if sources is not None:
            return sources
    return () if informative is None else tuple(map(int, np.flatnonzero(informative) + 1))


def _draw_words(
    form: Experiment | OptionError,
    snapshot: Snapshot,
    seen: Snapshot,
    moment: Moment | None,
    informative: np.ndarray | None,
    mean: Trace | None,
) -> None:
    """Draw the run's error, instructions, or one sentence about what the run has learned."""
    if snapshot.state == "failed":
        draw_error(snapshot.message)
    elif snapshot.latest is None or snapshot.state == "idle":
        st.markdown(_instructions(snapshot))
    elif moment is not None and (happened := _happened(seen, moment, informative, mean)):
        experiment = seen.experiment
        # Advice would replace settings that the user has changed since.
        has_hints = open_lesson().has_hints
        is_wanted = has_hints and form == experiment
        advice = advice_for(experiment, happened) if is_wanted else None
        words = in_words(
            happened,
            experiment.model,
            learning_rate=experiment.training.learning_rate,
            word=experiment.generator.position_word,
            remedy=advice.reason if advice else "",
            has_hints=has_hints,
        )
        with st.container(
            horizontal=True, vertical_alignment="top", gap="small", key="words_and_advice"
        ):
            st.markdown(f":material/history_edu: {as_message(words)}")
            if advice:
                _draw_advice(advice)


def _happened(
    seen: Snapshot, moment: Moment, informative: np.ndarray | None, mean: Trace | None
) -> WhatHappened | None:
    experiment = seen.experiment
    rungs = figure(ladder, experiment.generator, experiment.length)
    if rungs is None or informative is None:
        return None
    tests = [test for test in seen.history.tests if test[0] < moment.step]
    return happened_in(
        experiment,
        [*tests, (moment.step, moment.evaluation)],
        rungs,
        informative=informative,
        trace=mean or mean_trace(moment.model, present(seen.probes)),
        losses=seen.history.losses,
    )


def _draw_advice(advice: Advice) -> None:
    def follow() -> None:
        note_advice(advice)
        fill_form(advice.experiment)
        session().commands.append("start")

    if draw_button(advice.action, "advice", "lightbulb", follow, type="primary"):
        # The whole page starts the run, and this button is in a fragment.
        st.rerun()


def _instructions(snapshot: Snapshot) -> str:
    if snapshot.has_twin:
        return (
            ":material/hourglass_top: Another visitor is training the same run. "
            "You will see it when it is done."
        )
    if snapshot.in_queue:
        return (
            ":material/hourglass_top: Waiting in the queue: this server trains a limited number "
            "of runs at a time. Keep this page open; your run starts automatically."
        )
    if snapshot.state == "compiling":
        return ":material/hourglass_top: Generating data and compiling, once per model shape."
    if snapshot.state == "paused":
        return ":material/pause_circle: Paused before the first step. Press **Continue**."
    return (
        ":material/play_circle: Press **Start** (key S) to train. The charts show the untrained "
        "model at step 0."
    )


class Bench(NamedTuple):
    """The session's run, the experiment that the controls describe, and the run's shown state."""

    run: LiveRun
    form: Experiment | OptionError
    snapshot: Snapshot


def draw_bench(
    title: str,
    *,
    about: str = "",
    draw_first: Callable[[Bench], None] | None = None,
    example: str = "",
) -> Bench:
    """Draw controls, buttons and everything that changes while the run trains.

    With `about`, title and text are above the buttons; without it, the title is beside them. With
    `draw_first`, its content is between the buttons and the live charts. Until the session has a
    run, the example run of that name is shown, if it is of the selected process.
    """
    run = session_run()
    with st.sidebar:
        form = draw_form()

    apply_commands(run, form)
    snapshot = run.snapshot()
    bench = Bench(run, form, snapshot)
    if about:
        with st.container(gap="small", key="heading"):
            st.title(title, anchor=False)
            st.caption(about)
    key = "buttons" if about else "bar"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=key):
        if not about:
            st.title(title, anchor=False, width="content")
        draw_transport(run, form, snapshot)
    # Permanent containers, so that notices that come and go do not move the fragments after them.
    notices, live = st.container(), st.container()
    with notices:
        if isinstance(form, OptionError):
            draw_form_problem(form)
        draw_library_problem()
        if example and snapshot.state == "idle" and not session().runs_shelved:
            bench = _with_example(bench, example)
    with live:
        if draw_first is not None:
            draw_first(bench)
        draw_live(bench.run, form, bench.snapshot)
    return bench


def _with_example(bench: Bench, name: str) -> Bench:
    """Return the bench with the example run, and draw what it is, if it is of the same process."""
    example = readable_example_run(name)
    if example is None or example.experiment.generator != bench.run.experiment.generator:
        return bench
    draw_example_note(example, "Start")
    return Bench(example, bench.form, example.snapshot())


def draw_bench_foot(bench: Bench) -> None:
    """Draw the panels of past runs, link, files and script."""
    draw_runs(bench.run)
    draw_link_panel(bench.form)
    draw_files(bench.run)
    draw_in_code(
        to_script(bench.run.experiment, bench.snapshot.history.changes),
        lead="This script repeats the run above and prints its test results:",
    )
