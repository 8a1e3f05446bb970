"""Positional encodings: effect on scores, wavelengths, aliasing, lengths beyond training."""

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Scale, Series, lines_chart, past_hue, series_table
from attnlab.lessons.geometry import (
    TOO_ALIKE,
    Closest,
    closest_pair,
    met_scores,
    novelty,
    profile,
    wavelengths,
)
from attnlab.positions import AbstractScorePosition, Alibi, Rotary
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.lessons.encoding_panel import (
    MOST_POSITIONS,
    ShownEncoding,
    draw_profile,
    in_columns,
)
from attnlab.ui.lessons.kit import draw_figure, steps

# Colour and dashes of each encoding.
_LOOKS = ((past_hue(0), (1, 0)), (past_hue(1), (4, 2)))


@fragment
def draw_scores(length: int, width: int) -> None:
    """Draw the score by distance of `rotary` and `alibi`, the encodings that change scores."""
    left, right = st.columns(2, gap="medium")
    with left:
        values = steps(2, 1_000_000, 10_000)
        base = linked(st.select_slider, "rotary base", values, 10_000, key="pe_rotary")
        _draw_score_profile(Rotary(base=base), length, width)
    with right:
        slope = linked(st.select_slider, "alibi slope", steps(0.001, 10, 0.5), 0.5, key="pe_alibi")
        slopes = linked(
            st.selectbox,
            "alibi slopes",
            ["equal", "by head"],
            key="pe_alibi_slopes",
            help="With `by head` this single head has the slope to the power of 8.",
        )
        _draw_score_profile(Alibi(slope=slope, slopes=slopes), length, width)
    st.caption(
        "How to read it: the score against the distance; without an encoding it is 1 everywhere. "
        "The score of rotary falls and recovers as its pairs go out of phase and back.",
        help="With d = 1 there is no pair to rotate.",
    )


def _draw_score_profile(position: AbstractScorePosition, length: int, width: int) -> None:
    found = profile(met_scores(position, length=length, width=width))
    spread = float((found.most - found.least).max())
    draw_profile(
        f"scores_{position.name}",
        found,
        "score",
        name=f"Scores of {position.name} by distance",
        alt=f"{position.name}: score {found.mean[0]:.2f} at distance 0, {found.mean[-1]:.2f} "
        f"at {length - 1}.",
        height=240,
    )
    rounding = f", up to rounding ({spread:.0e})" if spread else ""
    st.caption(f"`{position.name}`: positions at equal distance have equal scores{rounding}.")


def draw_waves(one: ShownEncoding, other: ShownEncoding) -> None:
    """Draw each component's wavelength, and the two positions with the most similar rows."""
    in_columns(_draw_waves, one, other)
    st.caption(
        "How to read it: after one wavelength a component repeats. Positions are hard to "
        "distinguish where all components repeat together, or where all are too slow."
    )


def _draw_waves(shown: ShownEncoding) -> None:
    length, width = (0, 0) if shown.rows is None else shown.rows.shape
    waves = wavelengths(shown.position, width) if width else None
    if waves is None or not waves.size:
        st.markdown(f"`{shown.name}` has no wavelengths to list.")
    else:
        table = {
            "component": np.arange(1, len(waves) + 1),
            "wavelength (positions)": [f"{wave:,.2f}" for wave in waves],
            f"turns in {length} positions": [f"{length / wave:.3f}" for wave in waves],
        }
        # Text columns keep all digits; aligned to the right they look like numbers.
        column = st.column_config.TextColumn
        st.dataframe(
            table,
            hide_index=True,
            height=38 + 35 * min(len(waves), 8),
            column_config={name: column(name, alignment="right") for name in table},
        )
    if shown.rows is None or length < 2:
        return
    pair = closest_pair(shown.rows)
    text = (
        f"`{shown.name}`: {_closest_in_words(pair)}, with a distance of {pair.distance:.3f}. "
        f"Two vectors typically have a distance of {pair.typical:.3f}."
    )
    if pair.distance < TOO_ALIKE * pair.typical:
        draw_warning(
            f"{text} Below {TOO_ALIKE:.0%} of the typical distance, a model needs large weights "
            "to distinguish two positions.",
            icon=":material/blur_on:",
        )
    else:
        st.markdown(text)


def _closest_in_words(pair: Closest) -> str:
    if pair.lag is not None:
        return f"the {pair.ties} pairs of positions {pair.lag} apart are the most similar"
    words = f"positions {pair.one + 1} and {pair.other + 1} are the most similar"
    return words + f", as are {pair.ties - 1} other pairs" * (pair.ties > 1)


@fragment
def draw_lengths(one: ShownEncoding, other: ShownEncoding, length: int) -> None:
    """Draw each position's distance to the nearest row within the trained length."""
    trained = linked(st.slider, "trained on (positions)", 1, MOST_POSITIONS, 20, key="pe_trained")
    trained, lines = min(trained, length), []
    for shown in (one, other):
        if shown.rows is None:
            continue
        # A learned encoding has vectors only for trained positions.
        is_free = getattr(shown.position, "trainable", False)
        last = trained if is_free else len(shown.rows)
        values = novelty(shown.rows[:last], min(trained, last))
        lines.append(series_table(shown.title, np.arange(1, len(values) + 1), values))
    if lines:
        table = pd.concat(lines)
        furthest = table.iloc[int(table["value"].to_numpy().argmax())]
        draw_figure(
            st,
            "beyond",
            lines_chart,
            table,
            None,
            pd.DataFrame({"at": [trained + 0.5], "name": "trained up to here"}),
            name="Beyond the trained length",
            alt=f"Trained on {trained} positions. Furthest from them: {furthest['series']}, "
            f"position {furthest['at']}, at {furthest['value']:.2f}.",
            x=Scale("position", "d", labels="d"),
            y=Scale("distance to trained vectors", ".4f"),
            series=tuple(
                Series(name, hue, dash=dash)
                for name, (hue, dash) in zip(table["series"].unique(), _LOOKS, strict=False)
            ),
            look="line",
            noun="encoding",
            tips=(),
            height=260,
        )
    else:
        st.caption("Neither encoding has vectors.")
    st.caption(
        "How to read it: the line is the distance from a position's vector to the nearest trained "
        "vector. It is 0 up to the trained length.",
        help="A scalar grows without bound. Sinusoids stay in bounds, but slow ones reach angles "
        "not seen in training. The line of a learned encoding ends, because such a model rejects "
        "longer sequences.",
    )
