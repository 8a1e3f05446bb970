"""Inspect: buttons that train, progress, and the editor of the sequence that the model reads."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnlab.configuration.options import OptionError, present
from attnlab.generators.vocabulary import Vocabulary
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import label_of_change
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form import draw_form_problem
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.example_run import draw_example_note, readable_example_run
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.core.session_library import name_current, shelve_run
from attnlab.ui.inspect.prediction_panel import MAP_AND_BARS
from attnlab.ui.train.cursor import NOW, draw_scrubber
from attnlab.ui.train.transport import draw_status

_DAYS = "edited_days"
# Maximum number of positions whose buttons are shown at the same time.
_MOST_BUTTONS = 64
# With more positions the columns of the map are narrower than a button.
_MOST_ALIGNED = 12


def draw_training(run: LiveRun, form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Draw buttons that train the controls' settings, or that pause or continue the current run.

    Draw none if the run is finished and has the settings of the controls.
    """
    if snapshot.state == "failed":
        draw_error(snapshot.message)
    untrained = snapshot.step == 0 and not snapshot.active
    if isinstance(form, OptionError):
        if untrained:
            draw_form_problem(form)
            st.page_link(TRAIN_PAGE, label="Change them on the Train page", icon=":material/tune:")
        return
    offer = ""
    if untrained:
        offer = (
            f"Your settings are not trained yet: `{form.generator.name}`, {form.length} "
            f"{form.generator.position_word}s, model "
            f"`{form.model.name}`, {form.training.steps:,} steps, seed {form.seed}."
        )
    elif form != snapshot.experiment:
        change = as_text(label_of_change(snapshot.experiment, form))
        offer = f"The controls differ from this run: {change}."
    with st.container(horizontal=True, vertical_alignment="center", key="training"):
        if offer:
            st.markdown(offer, width=400)
            draw_button(
                "Train here", "inspect_train", "play_arrow", _train, run, form, type="primary"
            )
        if snapshot.active:
            draw_button("Pause", "inspect_pause", "pause", run.pause)
        elif snapshot.state == "paused" and not untrained:
            draw_button("Continue training", "inspect_continue", "play_arrow", run.start)


def _train(run: LiveRun, form: Experiment) -> None:
    if form != run.experiment:
        shelve_run(run)
        run.reset(form)
    st.session_state["shown_step"] = NOW
    name_current(run)
    run.start()


def run_to_inspect(run: LiveRun) -> LiveRun:
    """Return the session's run or, while it has no result, the example, with a note about it."""
    snapshot = run.snapshot()
    if snapshot.latest is not None or snapshot.preparing:
        return run
    example = readable_example_run("recall")
    if example is None:
        return run
    draw_example_note(example, "Train here")
    return example


def draw_preparation(run: LiveRun, snapshot: Snapshot) -> None:
    """Draw the progress of a run whose first results are being computed."""

    def draw() -> None:
        if (now := run.snapshot()).preparing:
            draw_status(now)
            st.progress(0.0)

    draw_while(lambda: run.snapshot().preparing, draw, key="preparing", waited=snapshot.preparing)


def draw_sequence(snapshot: Snapshot) -> np.ndarray:
    """Draw the slider of steps and the editor of the sequence; return the tokens, `(length,)`.

    At first they are those of the first probe.
    """
    process, probes = snapshot.experiment.generator, present(snapshot.probes)
    vocabulary, tokens = process.vocabulary, st.session_state.get(_DAYS, ())
    if len(tokens) != snapshot.experiment.length or max(tokens) >= vocabulary.size:
        _take(probes[0])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="stretch"):
            draw_scrubber(snapshot)
        st.selectbox(
            "initial sequence",
            range(len(probes)),
            key="edited_from",
            format_func=lambda i: f"{i + 1}: {vocabulary.shorten(probes[i])}",
            width=300,
            on_change=lambda: _take(probes[st.session_state["edited_from"]]),
        )
    edited = np.array(st.session_state[_DAYS])
    draw_days(vocabulary, edited, process.position_word)
    return edited


def draw_days(vocabulary: Vocabulary, tokens: np.ndarray, word: str) -> None:
    """Draw one button per position; a click changes its token to the next of the vocabulary.

    A long sequence is split into parts, of which one is shown.
    """
    st.caption(
        f"Click a {word} to change it ({as_text(' → '.join(vocabulary.symbols))}). The oldest is "
        "at the left."
    )
    parts = range(0, len(tokens), _MOST_BUTTONS)
    first = parts[-1]
    if len(parts) > 1:
        first = st.segmented_control(
            f"{word}s shown",
            parts,
            format_func=lambda at: f"{at + 1} to {min(at + _MOST_BUTTONS, len(tokens))}",
            default=first,
            required=True,
            key=f"edited_part_{len(tokens)}",
            label_visibility="collapsed",
        )
    # Few buttons are as wide as the map below and, by `style.css`, above its columns.
    place, key = st.container(), "day_editor"
    if len(tokens) <= _MOST_ALIGNED:
        place, key = st.columns(MAP_AND_BARS, gap="medium")[0], "aligned_days"
    with place.container(horizontal=True, gap="xxsmall", key=key):
        for day in range(first, min(first + _MOST_BUTTONS, len(tokens))):
            label = f"{as_text(vocabulary.symbols[tokens[day]])} {day + 1}"
            # The argument is the new token, so that a click that arrives twice is harmless.
            token = (int(tokens[day]) + 1) % vocabulary.size
            draw_button(label, f"edit_day_{day + 1}", None, _turn, day, token)


def _turn(day: int, token: int) -> None:
    tokens = list(st.session_state[_DAYS])
    tokens[day] = token
    _take(tokens)


def _take(tokens: Sequence[int] | np.ndarray) -> None:
    st.session_state[_DAYS] = tuple(int(token) for token in tokens)
