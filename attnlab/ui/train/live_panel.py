"""The part of the Train page that moves: status, curve, patterns and figures of the run.

The order on the screen is fixed, and all that comes and goes stands below the charts.
"""

import numpy as np
import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.configuration.position_words import with_position_word
from attnlab.inspection import in_words, what_happened
from attnlab.live.live_run import LiveRun
from attnlab.models import Trace
from attnlab.models.inside import mean_trace
from attnlab.optimum import dependence, informative_positions, ladder, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.training.limits import feasibility
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import as_message, draw_error
from attnlab.ui.core.page_theme import INSIDE_HEIGHT, LOSS_HEIGHT
from attnlab.ui.core.process_figures import answer_or_none, is_answered
from attnlab.ui.library.place import draw_continue_offer, tell_what_was_not_kept
from attnlab.ui.train.cursor import (
    Moment,
    advance_replay,
    draw_replay,
    draw_scrubber,
    is_replaying,
    shown_moment,
)
from attnlab.ui.train.figures_panel import draw_figures, draw_headline
from attnlab.ui.train.findings_panel import draw_findings, draw_prospect
from attnlab.ui.train.inside.panel import (
    draw_inside,
    draw_inside_choice,
    draw_sequence_choice,
    inside_of,
    questions_inside,
)
from attnlab.ui.train.inside.shown import MEAN, Choice, Shown
from attnlab.ui.train.loss_panel import (
    draw_axis_choice,
    draw_loss,
    draw_reference_choice,
    draw_target,
)
from attnlab.ui.train.repeat import draw_curve_choice, draw_repeat, repeat_progress
from attnlab.ui.train.session_past_runs import past_runs
from attnlab.ui.train.start import is_start_pending, with_starting_point
from attnlab.ui.train.transport import draw_amend, draw_status, whose_figures


def draw_live(run: LiveRun, form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Everything that changes: four times a second while the run trains or is replayed.

    Otherwise it is drawn when something comes that was waited for. `snapshot` is what the buttons
    were drawn by: if the run has ended since, they must hear.
    """
    awaited = _awaited(snapshot, form)

    def draw() -> None:
        _draw(run, form)
        if not awaited and _awaited(run.snapshot(), form):
            # A control of this part asked for something. The timer below has to start for it.
            st.rerun()

    draw_while(
        lambda: _moves(run.snapshot()),
        draw,
        key="live",
        seconds=0.25,
        waited=_moves(snapshot),
    )
    # To draw all that often would take the processor from those who are waited for.
    draw_while(
        lambda: _awaited(run.snapshot(), form),
        lambda: None,
        key="awaited",
        seconds=0.25,
        waited=awaited,
    )


def _moves(snapshot: Snapshot) -> bool:
    return snapshot.state == "running" or is_replaying()


def _awaited(snapshot: Snapshot, form: Experiment | OptionError) -> tuple:
    """What is to come: answers, an untrained model, the next stage of a run that prepares itself.

    Nothing while all is drawn again and again anyway.
    """
    if _moves(snapshot):
        return ()
    questions = _questions(snapshot.experiment) + questions_inside(with_starting_point(snapshot))
    if isinstance(form, Experiment):
        questions.append((feasibility, form))
    awaited = [question for question in questions if not is_answered(*question)]
    if is_start_pending(snapshot):
        awaited.append(("start",))
    if (progress := repeat_progress())[1]:
        awaited.append(progress)
    if snapshot.active:
        awaited.append((snapshot.message, snapshot.in_queue, snapshot.latest is None))
    return tuple(awaited)


def _questions(experiment: Experiment) -> list[tuple]:
    of_process = experiment.generator, experiment.length
    # The quick one first: the marks of the truth are the first that somebody looks for.
    return [(each, *of_process) for each in (dependence, optimum, ladder)]


def _draw(run: LiveRun, form: Experiment | OptionError) -> None:
    snapshot = run.snapshot()
    tell_what_was_not_kept()
    advance_replay(snapshot)
    seen = with_starting_point(snapshot)
    moment = None if seen.latest is None else shown_moment(seen)
    informative = _informative(snapshot.experiment)
    own, chosen = whose_figures(form, snapshot)
    with st.container(gap="xxsmall"):
        with st.container(
            horizontal=True,
            horizontal_alignment="distribute",
            vertical_alignment="center",
            gap="xsmall",
            key="state",
        ):
            draw_status(snapshot, None if moment is None or moment.is_now else moment.step)
            if snapshot.state == "idle":
                draw_continue_offer(run)
            elif moment is not None:
                draw_headline(seen, moment.evaluation, own)
        with st.container(key="prospect"):
            if not draw_amend(form, snapshot):
                with st.container(
                    horizontal=True,
                    horizontal_alignment="distribute",
                    vertical_alignment="center",
                    gap="small",
                    key="best_and_seeds",
                ):
                    draw_prospect(form, chosen)
                    with st.container(
                        horizontal=True,
                        vertical_alignment="center",
                        gap="small",
                        key="seeds",
                        width="content",
                    ):
                        draw_repeat(form, snapshot.experiment)
        # The controls decide what the charts above them show.
        curve = st.container(key="curve", height=LOSS_HEIGHT, border=False)
        inside = st.container(key="inside", height=INSIDE_HEIGHT, border=False)
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
        # The error beside the buttons says what is to be done first.
        if isinstance(form, Experiment) or snapshot.state != "idle":
            mean = within.trace if within and choice.sequence == MEAN else None
            _draw_words(snapshot, seen, moment, informative, mean)
    with below:
        reading = st.container()
        draw_findings(form)
        if moment is not None:
            draw_figures(seen, moment.evaluation)
        with st.container(horizontal=True, vertical_alignment="center", gap="large"):
            logarithmic = draw_axis_choice()
            rungs = draw_reference_choice(seen)
            over_seeds = draw_curve_choice(seen.experiment)
            draw_target(run, seen)
    cursor = None if moment is None or moment.is_now else moment.step
    with curve:
        draw_loss(
            seen,
            rungs,
            cursor,
            past_runs(),
            over_seeds,
            logarithmic=logarithmic,
        )
    with inside:
        if within is None:
            st.caption(":material/hourglass_top: Building the untrained model …")
            return
        at_rest = moment.is_now and not snapshot.active
        days = () if informative is None else np.flatnonzero(informative) + 1
        how = draw_inside(Shown(seen, within, choice, tuple(map(int, days)), at_rest))
    with reading:
        st.caption(how)


def _informative(experiment: Experiment) -> np.ndarray | None:
    true = answer_or_none(dependence, experiment.generator, experiment.length)
    return None if true is None else informative_positions(true)


def _draw_words(
    snapshot: Snapshot,
    seen: Snapshot,
    moment: Moment | None,
    informative: np.ndarray | None,
    mean: Trace | None,
) -> None:
    """Where the run stands, in a sentence; `mean` is the mean trace, if it is there already."""
    if snapshot.state == "failed":
        draw_error(snapshot.message)
    elif snapshot.latest is None or snapshot.state == "idle":
        st.markdown(_instructions(snapshot))
    elif moment is not None and (words := _happened(seen, moment, informative, mean)):
        st.markdown(f":material/history_edu: {words}")


def _happened(
    seen: Snapshot, moment: Moment, informative: np.ndarray | None, mean: Trace | None
) -> str:
    experiment = seen.experiment
    rungs = answer_or_none(ladder, experiment.generator, experiment.length)
    if rungs is None or informative is None:
        return ""
    tests = [test for test in seen.history.tests if test[0] < moment.step]
    training, given = experiment.training, experiment.generator.given()
    trace = mean or mean_trace(moment.model, seen.probes)
    happened = what_happened(
        [*tests, (moment.step, moment.evaluation)],
        rungs,
        vocab=experiment.generator.vocabulary.size,
        informative=informative,
        row=_row(trace, experiment),
        layer=trace.attention[-1].layer + 1 if len(trace.attention) > 1 else None,
        tokens=training.test_size * (experiment.length + 1 - given if given else 1),
        losses=seen.history.losses,
        last_step=training.steps,
    )
    words = in_words(happened, experiment.model, learning_rate=training.learning_rate)
    return as_message(with_position_word(words, experiment.generator.position_word))


def _row(trace: Trace, experiment: Experiment) -> np.ndarray | None:
    """The pattern of the query that predicts, by head of the last layer; several of a task do."""
    if not trace.attention or experiment.generator.given():
        return None
    return trace.attention[-1].pattern[:, experiment.read_position]


def _instructions(snapshot: Snapshot) -> str:
    if snapshot.in_queue:
        return (
            ":material/hourglass_top: Waiting in the queue: this server trains a limited "
            "number of runs at a time. Yours starts by itself when its turn comes; keep this "
            "page open."
        )
    if snapshot.state == "compiling":
        return (
            ":material/hourglass_top: Drawing the data and compiling the training program, "
            "once per model shape."
        )
    if snapshot.state == "paused":
        return ":material/pause_circle: Paused before the first step. Press **Continue**."
    return (
        ":material/play_circle: Press **Start** (key S) and watch: the charts show the untrained "
        "model at step 0."
    )
