"""The part of the Train page that moves: status, curve, pattern and figures of the run."""

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.attention import MASKS
from attnlab.charts import (
    loss_chart,
    loss_table,
    pattern_chart,
    pattern_table,
    weight_chart,
    weight_table,
)
from attnlab.history import Picture, schedule
from attnlab.live import LiveRun
from attnlab.snapshot import Snapshot
from attnlab.ui.transport import ACTIVE, draw_status

_NOW = "now"
_MEAN = "mean"
_HEIGHT = 350


def draw_live(run: LiveRun) -> None:
    """Everything that changes while the run trains, four times a second."""
    active = run.snapshot().state in ACTIVE
    # Below half a second Streamlit does not fade what it draws again.
    st.fragment(_draw, key="live", run_every=0.25 if active else None)(run, active)


def _draw(run: LiveRun, was_active: bool) -> None:
    snapshot = run.snapshot()
    if was_active and snapshot.state not in ACTIVE:
        # The buttons outside must hear of the end, and the timer stop.
        st.rerun()
    draw_status(snapshot)
    _draw_progress(snapshot)
    if snapshot.latest is None:
        _draw_instructions(snapshot)
        return
    charts = st.container()
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with left:
        step = _draw_scrubber(snapshot)
    with right:
        sequence = _draw_sequence_choice(snapshot)
    left, right = charts.columns([3, 2], gap="medium")
    with left:
        _draw_loss(snapshot, None if step == _NOW else step)
    with right:
        _draw_inside(snapshot, step, sequence)
    _draw_figures(snapshot)


def _draw_progress(snapshot: Snapshot) -> None:
    if snapshot.state == "failed":
        st.error(snapshot.message, icon=":material/error:")
    total = snapshot.experiment.training.steps
    st.progress(snapshot.step / total)


def _draw_instructions(snapshot: Snapshot) -> None:
    if snapshot.state == "compiling":
        st.info(
            "Drawing the data and compiling the training program. This happens once for every "
            "shape of model; a long `ndays` or `dotmod` also computes its exact law first.",
            icon=":material/hourglass_top:",
        )
    else:
        st.info(
            "Choose a generator and a model in the sidebar, then press **Start** (or the key S) "
            "and watch the model learn. The loss curve and the attention pattern appear here.",
            icon=":material/play_circle:",
        )


def _draw_sequence_choice(snapshot: Snapshot) -> int | str:
    if not snapshot.latest.picture.patterns.shape[1]:
        return _MEAN
    vocabulary = snapshot.experiment.generator.vocabulary
    count = len(snapshot.probes)

    def name(choice: int | str) -> str:
        if choice == _MEAN:
            return f"mean of {count} sequences"
        return f"{choice + 1}: {vocabulary.render(snapshot.probes[choice])}"

    return st.selectbox(
        "sequence",
        [*range(count), _MEAN],
        format_func=name,
        key="probe",
        persist_state="session",
        help="One of a fixed set: what moves is learning, not the data.",
    )


def _draw_scrubber(snapshot: Snapshot) -> int | str:
    """The step whose pattern is shown: one at which a picture was taken, or now."""
    # All steps of the plan from the first moment on, so that the slider never jumps.
    options = [*schedule(snapshot.experiment.training.steps).pictures, _NOW]
    if st.session_state.get("shown_step") not in options:
        st.session_state["shown_step"] = _NOW
    chosen = st.select_slider(
        "pattern at step",
        options,
        key="shown_step",
        persist_state="session",
        format_func=lambda step: step if step == _NOW else f"{step:,}",
        help="Scrub through training; at “now” the pattern follows the run.",
    )
    reached = {step for step, _ in snapshot.history.pictures}
    return chosen if chosen in reached else _NOW


def _draw_loss(snapshot: Snapshot, cursor: int | None) -> None:
    total = snapshot.experiment.training.steps
    latest = snapshot.latest
    table = loss_table(
        snapshot.history,
        vocab=snapshot.experiment.generator.vocabulary.size,
        last_step=total,
        latest=(latest.step, latest.evaluation),
        cursor=cursor,
    )
    test = latest.evaluation
    with st.container(key="chart_loss"):
        st.altair_chart(
            loss_chart(table, last_step=total, dark=_dark(), height=_HEIGHT),
            width="stretch",
            alt=f"Loss against step. Test loss {test.nll:.3f} nats at step {latest.step:,}.",
        )
    st.caption(
        "How to read it: lower is better. Training: batches, before each update. Test: sequences "
        "never trained on. Chance: a uniform guess."
    )


def _picture_at(snapshot: Snapshot, step: int | str) -> Picture:
    return snapshot.latest.picture if step == _NOW else dict(snapshot.history.pictures)[step]


def _draw_inside(snapshot: Snapshot, step: int | str, sequence: int | str) -> None:
    picture = _picture_at(snapshot, step)
    with st.container(key="chart_attention"):
        if picture.patterns.shape[1]:
            _draw_pattern(snapshot, picture, sequence)
        else:
            _draw_weights(snapshot, picture)


def _draw_pattern(snapshot: Snapshot, picture: Picture, sequence: int | str) -> None:
    experiment = snapshot.experiment
    length = experiment.length
    head = picture.patterns[:, 0, 0].astype(np.float64)
    symbols = None
    if sequence == _MEAN:
        pattern = head.mean(axis=0)
    else:
        pattern = head[sequence]
        vocabulary = experiment.generator.vocabulary
        symbols = [vocabulary.symbols[token] for token in snapshot.probes[sequence]]
    days = jnp.arange(length)
    admitted = np.asarray(MASKS[experiment.model.mask](days, days))
    read = 0 if experiment.training.readout == "first" else length - 1
    strongest = int(pattern[read].argmax())
    st.altair_chart(
        pattern_chart(
            pattern_table(pattern, admitted, symbols),
            length=length,
            symbols=symbols,
            dark=_dark(),
            height=_HEIGHT,
        ),
        width="stretch",
        alt=f"Attention pattern, {length} days. Day {read + 1}, which is read out, gives "
        f"{pattern[read, strongest]:.0%} of its attention to day {strongest + 1}.",
    )
    st.caption(
        f"How to read it: each row is one day's attention and sums to 1. Row {read + 1} makes "
        "the prediction. Cells that the mask forbids are left out."
    )


def _draw_weights(snapshot: Snapshot, picture: Picture) -> None:
    vocabulary, length = snapshot.experiment.generator.vocabulary, snapshot.experiment.length
    table = weight_table(picture.weights, vocabulary)
    largest = table.loc[table["weight"].abs().idxmax()]
    st.altair_chart(
        weight_chart(table, length=length, vocabulary=vocabulary, dark=_dark(), height=_HEIGHT),
        width="stretch",
        alt=f"Weights of the linear model. The largest, {largest['weight']:+.2f} nats, is that of "
        f"{largest['seen']} on day {largest['day']} for {largest['outcome']}.",
    )
    st.caption(
        "How to read it: what seeing a weather on a day adds to the log-odds of tomorrow's, "
        "relative to the mean over outcomes. There is no attention in this model."
    )


def _dark() -> bool:
    return st.context.theme.type == "dark"


def _draw_figures(snapshot: Snapshot) -> None:
    test, training = snapshot.latest.evaluation, snapshot.experiment.training
    first = snapshot.history.tests[0][1]
    vocab = snapshot.experiment.generator.vocabulary.size
    with st.container(horizontal=True, gap="large", key="figures"):
        st.metric(
            "test accuracy",
            f"{test.accuracy:.3f} ± {test.accuracy_stderr:.3f}",
            help=f"Share of {training.test_size:,} test sequences whose next day is the "
            f"likeliest one; ± one standard error. A uniform guess: {1 / vocab:.3f}.",
            width="content",
        )
        st.metric(
            "test loss (nats)",
            f"{test.nll:.3f} ± {test.nll_stderr:.3f}",
            help="Mean of -log p(next day); ± one standard error.",
            width="content",
        )
        st.metric(
            "test loss at step 0",
            f"{first.nll:.3f}",
            width="content",
            help="The same seed always starts from the same weights, and so from this.",
        )
        st.metric(
            "parameters",
            f"{snapshot.parameters:,}",
            help="Numbers that are trained.",
            width="content",
        )
    if test.nll > max(first.nll, np.log(vocab)) * 1.5:
        st.warning(
            f"The loss is far above where it began: the run diverges. Lower the learning rate, "
            f"which is {training.learning_rate:g}, and reset.",
            icon=":material/trending_up:",
        )
