"""Pictures of matched runs with and without 1/√d: how they start, learn and end."""

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    SCALED,
    UNSCALED,
    gap_map_chart,
    gap_map_table,
    level_table,
    reached_chart,
    reached_table,
    series_chart,
    series_table,
    training_chart,
    training_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.lessons.sweep import Sweep, Track, over_seeds, steps_to
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark

_NAMES = {"1/sqrt(d)": SCALED, "none": UNSCALED}
_HEIGHT = 270


def draw_looks(tracks: tuple[Track, ...], plan: Sweep, gain: int) -> None:
    """`std` and `entropy` at the start by width, and the checks that were made during training."""
    experiment = plan.experiment
    even = float(np.log(experiment.length))
    left, right = st.columns(2, gap="medium")
    for column, figure, title, known in (
        (left, "std", "standard deviation of initial scores", None),
        (right, "entropy", "entropy at the start (nats)", {"even": even}),
    ):
        tables = []
        for scale, name in _NAMES.items():
            mine = [track for track in tracks if track.scale == scale]
            figures = np.array([over_seeds(getattr(track, figure)[gain, :, 0]) for track in mine])
            tables.append(series_table(name, [track.d_attn for track in mine], *figures.T))
        with column, st.container(key=f"chart_sweep_{figure}"):
            draw_chart(
                series_chart(
                    pd.concat(tables, ignore_index=True),
                    None if known is None else level_table(known, plan.widths),
                    x_title="d_attn",
                    y_title=title,
                    y_domain=None if known is None else (0, 1.2 * even),
                    ticks=plan.widths,
                    logarithmic=known is None,
                    dark=on_dark(),
                    height=_HEIGHT,
                ),
                name=f"{title[0].upper()}{title[1:]} against d_attn",
                alt=f"{title.capitalize()}, against d_attn, with and without 1/√d."
                + _at_widest(tracks, plan, figure, gain, look=0),
            )
    last = experiment.training.steps
    for column, figure, title, logarithmic in zip(
        st.columns(3, gap="medium"),
        ("std", "entropy", "gap"),
        (
            "standard deviation of the scores",
            "entropy of the pattern (nats)",
            "gap to the floor (nats)",
        ),
        (True, False, True),
        strict=True,
    ):
        with column, st.container(key=f"chart_training_{figure}"):
            draw_chart(
                training_chart(
                    training_table(tracks, figure, gain),
                    y_title=title,
                    last_step=last,
                    widths=plan.widths,
                    logarithmic=logarithmic,
                    dark=on_dark(),
                    height=_HEIGHT,
                ),
                name=f"{title[0].upper()}{title[1:]} during training",
                alt=f"The {title} during training, a line for every width."
                + _at_widest(tracks, plan, figure, gain, look=-1),
            )
    st.caption(
        "How to read it: of the row that makes the prediction, means over test sequences and "
        "seeds. The scores are those before the softmax. Below, a line "
        "is a width over training, the widest drawn strongest. The gap is the mean of "
        "KL(true ‖ model), the expected loss less the floor; hover for its standard error "
        "over seeds."
    )


def draw_results(
    tracks: tuple[Track, ...], plan: Sweep, gain: int, gap: float, share: float
) -> None:
    """Of the widths whose runs have ended: steps to `gap`, which is `share`, and final gaps."""
    steps = plan.experiment.training.steps
    ready = tuple(track for track in tracks if track.steps[-1] == steps)
    if not ready:
        return
    left, middle, right = st.columns(3, gap="medium")
    with left, st.container(key="chart_reached"):
        draw_chart(
            reached_chart(
                reached_table(ready, gap, gain, steps),
                widths=plan.widths,
                last_step=steps,
                dark=on_dark(),
                height=330,
            ),
            name=f"Steps to {share:.0%} of what can be learned",
            alt=f"Steps to {share:.0%} of what can be learned, a mark for every seed."
            + _reached_at_widest(ready, gain, gap),
        )
    most = 0.1 * float(np.log(plan.experiment.generator.vocabulary.size))
    for column, (scale, name) in zip((middle, right), _NAMES.items(), strict=True):
        with column, st.container(key=f"chart_gap_{'scaled' if name == SCALED else 'unscaled'}"):
            st.markdown(f"**{name}**: final gap")
            draw_chart(
                gap_map_chart(
                    gap_map_table(ready, plan.gains, scale),
                    widths=plan.widths,
                    gains=plan.gains,
                    most=most,
                    dark=on_dark(),
                    height=290,
                ),
                name=f"Final gap {name}",
                alt=f"The final gap to the floor {name}, by width and init gain."
                + _at_widest(tracks, plan, "gap", gain, look=-1),
            )
    _draw_sentence(ready, gain, gap, share)
    st.caption(
        f"How to read it: left, when each seed first came within {gap:.4f} nats of the floor, "
        "at one of about twenty evaluation points, evenly spaced in the logarithm of the step; "
        "triangles mark seeds that never did. Right, the mean gap at the end for every init "
        f"gain; hover for its standard error over {plan.seeds} seeds, which is rough for few "
        "seeds. The floor is that of all predictors: what no single head can express stays in "
        "the gap."
    )


def _at_widest(tracks: tuple[Track, ...], plan: Sweep, figure: str, gain: int, *, look: int) -> str:
    """What a figure is at the widest heads, in words; nothing while their runs still move it.

    A standard deviation of scores has no unit, the other figures are in nats.
    """
    widest, last = max(plan.widths), plan.experiment.training.steps
    mine = [track for track in tracks if track.d_attn == widest and track.steps[-1] == last]
    if len(mine) < len(_NAMES):
        return ""
    unit = "" if figure == "std" else " nats"
    said = [
        show_measured(*over_seeds(getattr(track, figure)[gain, :, look]), most_places=4)
        + f"{unit} {_NAMES[track.scale]}"
        for track in mine
    ]
    return f" At d_attn = {widest}: {' and '.join(said)}."


def _reached_at_widest(tracks: tuple[Track, ...], gain: int, gap: float) -> str:
    """How many seeds of the widest heads came as near as `gap`, and when, in words."""
    widest = max(track.d_attn for track in tracks)
    said = []
    for track in tracks:
        if track.d_attn == widest:
            first = steps_to(track, gap)[gain]
            reached = first[np.isfinite(first)]
            when = f", at a median of {np.median(reached):,.0f} steps" if reached.size else ""
            said.append(f"{reached.size} of {first.size} seeds {_NAMES[track.scale]}{when}")
    return f" At d_attn = {widest}: {'; '.join(said)}."


def _draw_sentence(tracks: tuple[Track, ...], gain: int, gap: float, share: float) -> None:
    widest = max(track.d_attn for track in tracks)
    parts = []
    for track in tracks:
        if track.d_attn == widest:
            first = steps_to(track, gap)[gain]
            parts.append(
                f"**{_NAMES[track.scale]}** {np.isfinite(first).sum()} of {first.size} seeds "
                f"reached {share:.0%}, and the gap ended at "
                f"{show_measured(*over_seeds(track.gap[gain, :, -1]), most_places=4)} nats"
            )
    with st.container(key="sweep_result"):
        st.markdown(f"At d_attn = {widest}: " + "; ".join(parts) + ".")
