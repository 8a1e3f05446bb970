"""A page that trains a run: controls, buttons, live charts, and panels below.

The order on screen is fixed: elements that come and go are below the charts.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.configuration.options import OptionError, present
from attnlab.generators import AbstractGenerator
from attnlab.inspection import in_words
from attnlab.inspection.advice import Advice, advice_for
from attnlab.inspection.what_happened import happened_in
from attnlab.lessons.examples import RUN_FILES
from attnlab.live.live_run import LiveRun
from attnlab.models.inside import mean_trace
from attnlab.optimum import baselines_of, informative_of
from attnlab.runs.script import to_script
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form import draw_form, draw_form_problem
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.controls.lesson_controls import open_lesson
from attnlab.ui.controls.share_panel import draw_link_panel
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.example_run import EXAMPLE_NOTE, readable_example_run
from attnlab.ui.core.figures import figure
from attnlab.ui.core.fragments import draw_in_code, draw_while
from attnlab.ui.core.outside import as_message, draw_error
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_run
from attnlab.ui.library.opening import (
    draw_continue_offer,
    draw_library_problem,
    open_finished_run,
    show_save_problem,
)
from attnlab.ui.train import cursor, figures_panel, loss_panel, transport
from attnlab.ui.train.controller import Form, queue, run_commands, start
from attnlab.ui.train.film_panel import draw_film, draw_shipped_film, film_of_page, has_shipped_film
from attnlab.ui.train.film_subject import measure_some, not_measured, subject_of_film
from attnlab.ui.train.inside import panel
from attnlab.ui.train.inside.sequence_panel import draw_editable_sequence, draw_sequence_choice
from attnlab.ui.train.measures_panel import draw_essential_parts, training_accuracy
from attnlab.ui.train.repeat import draw_repeat, repeat_progress
from attnlab.ui.train.runs_panel import draw_files, draw_runs, follow_run_file
from attnlab.ui.train.tabs import ATTENTION, TABS, VIEW
from attnlab.ui.train.welcome import draw_next_step, draw_welcome, follow_choice

_QUESTION = "Can the model discover this rule from examples?"
_OF_OWN_SEQUENCES = "How well can it predict what comes next?"


class Bench(NamedTuple):
    """The session's run, the experiment that the controls describe, and the run's shown state."""

    run: LiveRun
    form: Form
    snapshot: Snapshot


def draw_bench(
    title: str,
    *,
    draw_first: Callable[[Bench], None] | None = None,
    looks_inside: bool = False,
) -> Bench:
    """Draw controls, buttons and everything that changes while the run trains.

    Until a run is started, an example of the same settings is shown, if there is one; but a process
    without a target starts with an untrained model unless the page looks inside.

    Args:
        title: The page's title, beside the buttons.
        draw_first: Draws what is between the buttons and the film.
        looks_inside: Whether the page's own panels follow the film, instead of those of Train.
    """
    run = session_run()
    follow_run_file(run)
    if open_finished_run(run, read_form()):
        # Resuming sets controls, which must come before any is drawn.
        st.rerun()
    with st.sidebar:
        form = draw_form()
    transport.set_speed(run)
    run_commands(run, form)
    snapshot = run.snapshot()
    bench = Bench(run, form, snapshot)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="bar"):
        st.title(title, anchor=False, width="content")
        transport.draw_transport(run, form, snapshot, looks_inside=looks_inside)
    # Permanent containers, so that notices that come and go do not move the fragments after them.
    notices, live = st.container(), st.container(gap="xxsmall")
    with notices:
        if isinstance(form, OptionError):
            draw_form_problem(form)
        draw_library_problem()
        process = run.experiment.generator
        shows = looks_inside or (process.writes_target and not session().runs_shelved)
        if shows and snapshot.state == "idle" and process.name in RUN_FILES:
            shown = readable_example_run(process.name)
            if shown is not None and shown.experiment == run.experiment:
                bench = Bench(shown, form, shown.snapshot())
    with live:
        # Of what is seen, or of what Start would train.
        asked = bench.snapshot.experiment
        if isinstance(form, Experiment) and not (snapshot.active or looks_inside):
            asked = form
        with st.container(key="task"):
            question = _QUESTION if asked.generator.has_law else _OF_OWN_SEQUENCES
            if looks_inside:
                question = TABS[st.session_state[VIEW]].question
            st.markdown(f"{asked.generator.rule_in_words(asked.length)} **{question}**")
        if draw_first is not None:
            draw_first(bench)
        _draw_live(bench, looks_inside=looks_inside)
    return bench


def process_of(bench: Bench) -> AbstractGenerator:
    """Return the process that the controls describe or, if they are invalid, that of the run."""
    of = bench.run.experiment if isinstance(bench.form, OptionError) else bench.form
    return of.generator


def draw_bench_foot(bench: Bench) -> None:
    """Draw the panels of past runs, link, files and script."""
    draw_runs(bench.run)
    draw_link_panel(bench.form)
    draw_files(bench.run)
    draw_in_code(
        to_script(bench.run.experiment, bench.snapshot.history.changes),
        lead="This script repeats the run above and prints its test results:",
    )


def _draw_live(bench: Bench, *, looks_inside: bool) -> None:
    """Draw everything that changes, four times a second while the run trains.

    The buttons show the state of `bench`. If the run has ended since, the page is rerun.
    """
    run, _, snapshot = bench

    def moves(now: Snapshot) -> tuple[bool, bool]:
        return now.active and not now.in_queue, bool(not_measured(now))

    def turn(now: Snapshot) -> str:
        return now.message if now.in_queue else ""

    draw_while(
        lambda: moves(run.snapshot()),
        lambda: _draw(bench, looks_inside=looks_inside),
        key=cursor.LIVE,
        seconds=0.25,
        waited=moves(snapshot),
    )
    # Nothing else changes while the run waits, and many pages may wait for the same run.
    draw_while(
        lambda: turn(run.snapshot()), lambda: None, key="turn", seconds=1.0, waited=turn(snapshot)
    )
    # Rerun the whole page after each repeated run, since the table of runs shows the results too.
    draw_while(repeat_progress, lambda: None, key="repeated", waited=repeat_progress())


def _draw(bench: Bench, *, looks_inside: bool) -> None:
    run, form = bench.run, bench.form
    snapshot = run.snapshot()
    show_save_problem()
    # Always drawn, with height zero, so that nothing below moves.
    building = st.container(key="building")
    seen = snapshot
    if not has_shipped_film(snapshot):
        with building, st.spinner("Building the untrained model …"):
            seen = cursor.with_starting_point(snapshot)
    moment = None if seen.latest is None else cursor.shown_moment(seen)
    process, length = snapshot.experiment.generator, snapshot.experiment.length
    informative = figure(informative_of, process, length)
    with st.container(gap="xxsmall"):
        above = st.container()
        _draw_state(run, form, snapshot, moment, looks_inside=looks_inside)
        follow_choice()
        if not looks_inside:
            draw_welcome()
        # Containers first: what they hold depends on the controls below.
        picture, below = st.container(key="picture"), st.container()
        # The other tabs measure an answer of their own.
        is_attention = looks_inside and st.session_state[VIEW] == ATTENTION
        sentence = (above if is_attention else below).container(key="what_happened")
        parts = st.container(key="essential_parts")
    with sentence:
        # Without valid settings, the error beside the buttons says what to do.
        if isinstance(form, Experiment) or snapshot.state != "idle":
            _draw_words(form, snapshot, seen, moment, informative, looks_inside=looks_inside)
    if has_shipped_film(snapshot):
        # Alone in its place, as the film of the run is, so that the one replaces the other.
        with picture:
            learned = draw_shipped_film(snapshot)
        sentence.markdown(f":material/history_edu: {learned}")
        return
    if moment is None:
        if snapshot.state != "idle":
            picture.markdown(_instructions(snapshot))
        return
    process = seen.experiment.generator
    with st.container(gap="small"):
        if not looks_inside:
            _draw_figures(run, form, seen, moment)
        choice = loss_panel.LossChoice(logarithmic=False, baselines=(), seeds=None)
        if is_attention and not process.writes_target:
            tokens = draw_editable_sequence(seen)
        else:
            with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
                tokens = tuple(map(int, present(seen.probes)[draw_sequence_choice(seen)]))
                if not looks_inside:
                    choice = loss_panel.draw_loss_choice(run, seen)
        past = loss_panel.runs_beside(seen.experiment)
        places = () if informative is None else np.flatnonzero(informative) + 1
        with building, st.spinner("Computing what the heads look at, at each step …"):
            film = film_of_page(seen, tokens, tuple(map(int, places)))
            film |= subject_of_film(seen)
        with picture:
            film |= loss_panel.loss_data(seen, choice, past)
            draw_film(film, has_ended=snapshot.state == "done" and run is session_run())
        at_rest = moment.is_now and not snapshot.active
        if not looks_inside:
            panel.draw_views(seen, moment.model, informative, at_rest)
    # Last, so that the page shows all else while it goes on.
    if at_rest and snapshot.state == "done" and not looks_inside:
        with parts:
            draw_essential_parts(run, seen, moment)
    measure_some(seen)


def _draw_figures(run: LiveRun, form: Form, seen: Snapshot, moment: cursor.Moment) -> None:
    if walk := loss_panel.walk_of(run, seen, moment.evaluation):
        with st.container(key="walk"):
            st.markdown(walk[0], help=walk[1])
    figures_panel.draw_findings(form)
    figures_panel.draw_figures(seen, moment.evaluation, training_accuracy(run, seen, moment))


def _draw_state(
    run: LiveRun,
    form: Form,
    snapshot: Snapshot,
    moment: cursor.Moment | None,
    *,
    looks_inside: bool,
) -> None:
    """Draw the run's state, beside what the settings of the controls allow, and other seeds."""
    shown = transport.settings_of_shown_run(form, snapshot)
    line = {"horizontal": True, "vertical_alignment": "center", "gap": "small"}
    with st.container(**line, key="state"):
        transport.draw_status(snapshot, None if moment is None or moment.is_now else moment.step)
        if not transport.draw_amend(form, snapshot):
            with st.container(**line, key="best", width="content"):
                if shown:
                    # The style sheet draws charts of a last run in grey.
                    which, key = ("this", None) if snapshot.active else ("your last", "last_run")
                    with st.container(key=key, width="content"):
                        st.markdown(f"These charts show {which} run ({shown}).")
                if not looks_inside:
                    is_started = snapshot.state != "idle" and not shown
                    figures_panel.draw_prospect(form, is_other=bool(shown), is_started=is_started)
        comes_with_attnlab = has_shipped_film(snapshot) or run is not session_run()
        if comes_with_attnlab:
            # On Train the welcome says what Start does, and the line has no more room.
            more = " **Start** (key S) trains it here." * looks_inside
            if snapshot.active and run is session_run():
                more = " It is shown until your run has results."
            st.markdown(f"{EXAMPLE_NOTE}{more}", width="content")
        draw_continue_offer(run)
        if not shown and not looks_inside and not comes_with_attnlab:
            with st.container(**line, key="seeds", width="content"):
                draw_repeat(form, snapshot)


def _draw_words(
    form: Form,
    snapshot: Snapshot,
    seen: Snapshot,
    moment: cursor.Moment | None,
    informative: np.ndarray | None,
    *,
    looks_inside: bool,
) -> None:
    """Draw the run's error, instructions, or one sentence about what the run has learned."""
    if snapshot.state == "failed":
        draw_error(snapshot.message)
        return
    if moment is None and snapshot.state != "idle" and not has_shipped_film(snapshot):
        # In the place of the picture it says what is computed.
        return
    if snapshot.latest is None or snapshot.state == "idle":
        # Beside a film that comes with attnlab, the line above says what to do.
        waits = snapshot.in_queue or snapshot.has_twin or snapshot.state == "paused"
        if waits or not has_shipped_film(snapshot):
            st.markdown(_instructions(snapshot))
        return
    experiment = seen.experiment
    rungs = figure(baselines_of, experiment.generator, experiment.length)
    if moment is None or rungs is None or informative is None:
        return
    tests = [test for test in seen.history.tests if test[0] < moment.step]
    happened = happened_in(
        experiment,
        [*tests, (moment.step, moment.evaluation)],
        rungs,
        informative=informative,
        trace=mean_trace(moment.model, present(seen.probes)),
        losses=seen.history.losses,
    )
    # Advice would replace settings that the user has changed since.
    has_hints = open_lesson().has_hints
    advice = advice_for(experiment, happened) if has_hints and form == experiment else None
    words = in_words(
        happened,
        experiment.model,
        learning_rate=experiment.training.learning_rate,
        word=experiment.generator.position_word,
        remedy=advice.reason if advice else "",
        has_hints=has_hints,
    )
    line = {"horizontal": True, "vertical_alignment": "top", "gap": "small"}
    with st.container(**line, key="words_and_advice"):
        st.markdown(f":material/history_edu: {as_message(words)}")
        if advice is not None:
            label, key = advice.action, "advice"
            if draw_button(label, key, "lightbulb", _follow, advice, type="primary"):
                # The whole page starts the run, and this button is in a fragment.
                st.rerun()
        elif snapshot.state == "done" and form == experiment and not looks_inside:
            draw_next_step(experiment)


def _follow(advice: Advice) -> None:
    session().run_names.setdefault(advice.experiment, advice.name)
    fill_form(advice.experiment)
    queue(start)


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
