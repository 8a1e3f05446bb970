"""Two positional encodings side by side: views, shifts, scores, wavelengths, longer sequences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.charts import HUES, Matrix, Scale, Series, matrix_chart, past_hue
from attnlab.configuration.options import present
from attnlab.lessons import geometry
from attnlab.lessons.geometry import TOO_ALIKE, Closest, Profile
from attnlab.positions import (
    POSITIONS,
    AbstractPosition,
    AbstractScorePosition,
    Alibi,
    Learned,
    Rotary,
    Sinusoidal,
)
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session_library import session_run
from attnlab.ui.lessons.kit import choose, draw_options, in_columns, steps

IN_THE_RUN = "learned in the run"
_MOST_POSITIONS, _MOST_FEATURES = 64, 32
_HEIGHT = 430
_MOST_NUMBERED = 12
# By button: the values that it sets, by the key of the control.
_PRESETS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "Blog post: text and code": {
            "pe_length": 50, "pe_width": 5,
            "pe_a": "blog-described", "pe_a_base": 50, "pe_b": "blog-published", "pe_b_base": 50,
        },
        "Sinusoidal and scalar": {
            "pe_length": 40, "pe_width": 2,
            "pe_a": "sinusoidal", "pe_a_base": 10_000, "pe_b": "scalar", "pe_b_period": 20,
        },
    }
)  # fmt: skip
# With the usual base of 10,000, half of the components hardly change over these positions.
FIRST_VALUES: Mapping[str, object] = MappingProxyType({"pe_width": 16, "pe_a_base": 100})
# How to read each view.
VIEWS = MappingProxyType(
    {
        "heatmap": "each row is the vector of a position. In sinusoidal encodings the fastest "
        "components are at the left.",
        "curves": "each line is one component along the positions; its number is above the line.",
        "similarity": "the cosine between the vectors of two positions. Stripes along the "
        "diagonal mean that only the distance counts.",
        "distance": "the distance between two vectors, against how far apart their positions "
        "are. The line is the mean, and the band ranges from minimum to maximum. Where there is "
        "no band, only the distance of the positions counts.",
        "path": "two components as a path from position 1 on. Where the path meets itself, "
        "these two components cannot distinguish the positions.",
    }
)


class ShownEncoding(NamedTuple):
    """An encoding on the page: side "a" or "b", and its vectors, `(length, width)`, if any."""

    side: str
    name: str
    position: AbstractPosition
    rows: np.ndarray | None

    @property
    def title(self) -> str:
        return f"{self.side.upper()}, {self.name}"


def draw_encodings() -> tuple[ShownEncoding, ShownEncoding, int, int]:
    """Draw controls and presets; return both encodings, the length and the width."""
    left, right = st.columns(2)
    length = linked(left.slider, "length (positions)", 2, _MOST_POSITIONS, 40, key="pe_length")
    width = linked(right.slider, "d (components)", 1, _MOST_FEATURES, 8, key="pe_width")
    left, right = st.columns(2)
    with left:
        one = _draw_encoding("a", "sinusoidal", length, width)
    with right:
        other = _draw_encoding("b", "learned", length, width)
    with st.container(horizontal=True, gap="small", key="pe_presets"):
        for number, (name, values) in enumerate(_PRESETS.items(), start=1):
            draw_button(name, f"pe_preset_{number}", None, st.session_state.update, values)
    return one, other, length, width


def _draw_encoding(side: str, default: str, length: int, width: int) -> ShownEncoding:
    names = [*POSITIONS, IN_THE_RUN]
    name = linked(
        st.selectbox, f"encoding {side.upper()}", names, names.index(default), key=f"pe_{side}"
    )
    if name == IN_THE_RUN:
        return ShownEncoding(side, name, Learned(), _rows_of_run())
    st.caption(POSITIONS[name].summary)
    position = draw_options(POSITIONS[name], f"pe_{side}")
    rows = geometry.encoding_rows(position, length=length, width=width)
    return ShownEncoding(side, name, position, rows if rows.shape[1] else None)


def _rows_of_run() -> np.ndarray | None:
    latest = session_run().snapshot().latest
    rows = None if latest is None else getattr(latest.model, "positions", None)
    if rows is None:
        st.info(
            "This session's run has no learned encoding. Train one with `position` `learned`.",
            icon=":material/model_training:",
        )
        st.page_link(TRAIN_PAGE, label="Go to the Train page", icon=":material/arrow_forward:")
        return None
    rows = np.asarray(rows, dtype=np.float64)
    st.caption(
        f"From step {present(latest).step:,} of the current run: {rows.shape[0]} positions, "
        f"{rows.shape[1]} components. The sliders above have no effect on them."
    )
    return rows


@fragment
def draw_views(one: ShownEncoding, other: ShownEncoding) -> None:
    """Draw the menu of views, and the chosen view of both encodings."""
    view = choose("view", tuple(VIEWS), key="pe_view", label_visibility="collapsed")
    components = 1, 2
    if view == "path":
        with st.container(horizontal=True):
            components = tuple(
                linked(st.number_input, f"component {way}", 1, _MOST_FEATURES, start, key=key)
                for way, start, key in (("across", 1, "pe_x"), ("upwards", 2, "pe_y"))
            )
    for shown in in_columns((one, other)):
        st.markdown(f"**{shown.title}**")
        _draw_view(shown, view, components)
    st.caption(
        f"How to read it: {VIEWS[view]}\n\nTry this: raise the base to 10,000, and half of the "
        "columns hardly change."
    )


def _draw_view(shown: ShownEncoding, view: str, components: tuple[int, int]) -> None:
    rows, name, about = shown.rows, f"{shown.title}, {view}", f"{shown.name}, {view}:"
    if rows is None:
        if isinstance(shown.position, AbstractScorePosition):
            text = "adds no vector to the input. It changes the attention scores: see below."
            st.info(f"`{shown.name}` {text}", icon=":material/arrow_downward:")
        elif shown.name == "none":
            st.info(
                "No positional encoding: without a mask, attention cannot see the order.",
                icon=":material/block:",
            )
        return
    length, width = rows.shape
    size = f"{width} components over {length} positions, at most {np.abs(rows).max():.2f}."
    if view == "heatmap":
        chart = matrix_chart(Matrix(view, rows, "position", "component"), height=_HEIGHT)
        draw_chart(chart, name=name, alt=f"{about} {size}")
    elif view == "curves":
        domain = min(0.0, float(rows.min())), max(0.0, float(rows.max()))
        chart = charts.component_chart(_components_table(rows), domain=domain, height=_HEIGHT)
        draw_chart(chart, name=name, alt=f"{about} {size}")
    elif view == "similarity":
        cosines = Matrix(view, geometry.similarity(rows), "position", "position")
        about += f" the least cosine is {cosines.values.min():.2f}."
        chart = matrix_chart(cosines, largest=1.0, meaning="cosine", square=True)
        draw_chart(chart, name=name, alt=about)
    elif view == "distance":
        found = geometry.profile(geometry.distances(rows))
        about += f" neighbours are {found.mean[1]:.3f} apart on average."
        chart = _profile_chart(found, "distance of vectors", height=_HEIGHT)
        draw_chart(chart, name=name, alt=about)
    else:
        x, y = (min(component, width) for component in components)
        days, drawn = np.arange(1, length + 1), rows[:, [x - 1, y - 1]]
        is_named = (days - 1) % max(1, length // 8) == 0
        columns = {"position": days, "x": drawn[:, 0], "y": drawn[:, 1]}
        chart = charts.path_chart(
            pd.DataFrame({**columns, "name": np.where(is_named, days, "").astype(str)}),
            domain=(float(drawn.min()), float(drawn.max())),
            x_title=f"component {x}",
            y_title=f"component {y}",
        )
        alt = f"{about} components {x} and {y} of {length} positions."
        draw_chart(chart, name=name, alt=alt)


def _components_table(rows: np.ndarray) -> pd.DataFrame:
    """Return one row per position and component.

    At most a dozen components have a label in `name`, each at a different position.
    """
    length, width = rows.shape
    position, component = (index.ravel() + 1 for index in np.indices(rows.shape))
    named = np.arange(0, width, -(-width // _MOST_NUMBERED))
    places = np.round((np.arange(named.size) + 0.5) / named.size * (length - 1)).astype(int)
    name = np.full(rows.shape, "", dtype=object)
    name[places, named] = (named + 1).astype(str)
    columns = {"position": position, "component": component, "name": name.ravel()}
    return pd.DataFrame({**columns, "value": rows.ravel()})


def _profile_chart(found: Profile, title: str, *, height: int) -> charts.Drawing:
    """Draw a quantity by the distance of two positions, with a band from least to most."""
    table = charts.series_table("", found.apart, found.mean)
    return charts.lines_chart(
        table.assign(low=found.least, high=found.most),
        x=Scale("positions apart", "d", labels="d"),
        y=Scale(title, ".4f", zero=False),
        series=(Series("", HUES.truth, dash=(5, 4)),),
        look="band",
        tips=(("low", "least", ".4f"), ("high", "most", ".4f")),
        height=height,
    )


@fragment
def draw_shifts(one: ShownEncoding, other: ShownEncoding) -> None:
    """Draw, for each encoding, the matrix that maps position t to t + k, and its error."""
    shift = linked(st.slider, "k (positions)", 1, 32, 3, key="pe_shift")
    for shown in in_columns((one, other)):
        _draw_shift(shown, shift)
    st.caption(
        "How to read it: each row gives a component at t + k in terms of those at t. Blocks of "
        "two along the diagonal are rotations; slow pairs at the lower right hardly turn.",
        help="With odd d the last sine has no cosine to turn with. A scalar would have to add k, "
        "which no matrix can do. One matrix fits learned vectors only if d is at least the number "
        "of pairs of positions k apart.",
    )


def _draw_shift(shown: ShownEncoding, shift: int) -> None:
    if shown.rows is None:
        st.caption(f"`{shown.name}` has no vectors to shift.")
        return
    length, width = shown.rows.shape
    if shift >= length:
        st.caption(f"{length} positions contain none that are {shift} apart.")
        return
    if isinstance(shown.position, Sinusoidal) and width % 2 == 0:
        found = geometry.shift_rotation(shown.position, shown.rows, shift)
        how = "from its formula"
    else:
        found, how = geometry.fit_shift(shown.rows, shift), "the least squares fit"
    title = f"{shown.title}, M({shift})"
    matrix = Matrix(title, found.matrix, "component at t + k", "component at t")
    largest = max(1.0, float(np.abs(found.matrix).max()))
    alt = f"{shown.name}: M({shift}), {how}. Largest error {found.error:.1e}."
    draw_chart(matrix_chart(matrix, largest=largest, square=True), name=title, alt=alt)
    error = f"{found.error:.1e}" if found.error < 1e-3 else f"{found.error:.3f}"
    st.markdown(
        f"`{shown.name}`: M({shift}) is {how}. Largest error over all t: **{error}**; the largest "
        f"component is {np.abs(shown.rows).max():.2f}."
    )
    if not found.determined:
        st.info(
            f"There are only {length - shift} pairs of vectors for {width} components, so some "
            "matrix always fits them exactly. Take a longer sequence or a smaller d.",
            icon=":material/info:",
        )


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
    found = geometry.profile(geometry.met_scores(position, length=length, width=width))
    draw_chart(
        _profile_chart(found, "score", height=240),
        name=f"Scores of {position.name} by distance",
        alt=f"{position.name}: score {found.mean[0]:.2f} at distance 0, {found.mean[-1]:.2f} "
        f"at {length - 1}.",
    )
    spread = float((found.most - found.least).max())
    rounding = f", up to rounding ({spread:.0e})" if spread else ""
    st.caption(f"`{position.name}`: positions at equal distance have equal scores{rounding}.")


def draw_waves(one: ShownEncoding, other: ShownEncoding) -> None:
    """Draw each component's wavelength, and the two positions with the most similar rows."""
    for shown in in_columns((one, other)):
        _draw_waves(shown)
    st.caption(
        "How to read it: after one wavelength a component repeats. Positions are hard to "
        "distinguish where all components repeat together, or where all are too slow."
    )


def _draw_waves(shown: ShownEncoding) -> None:
    length, width = (0, 0) if shown.rows is None else shown.rows.shape
    waves = geometry.wavelengths(shown.position, width) if width else None
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
    pair = geometry.closest_pair(shown.rows)
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
    trained = linked(st.slider, "trained on (positions)", 1, _MOST_POSITIONS, 20, key="pe_trained")
    trained, lines = min(trained, length), []
    for shown in (one, other):
        if shown.rows is None:
            continue
        # A learned encoding has vectors only for trained positions.
        is_free = getattr(shown.position, "trainable", False)
        last = trained if is_free else len(shown.rows)
        values = geometry.novelty(shown.rows[:last], min(trained, last))
        title = f"{shown.title}: no vector beyond {last}" if is_free else shown.title
        lines.append(charts.series_table(title, np.arange(1, len(values) + 1), values))
    if lines:
        table = pd.concat(lines)
        furthest = table.iloc[int(table["value"].to_numpy().argmax())]
        names = zip(table["series"].unique(), ((1, 0), (4, 2)), strict=False)
        draw_chart(
            charts.lines_chart(
                table,
                None,
                pd.DataFrame({"at": [trained + 0.5], "name": "trained up to here"}),
                x=Scale("position", "d", labels="d"),
                y=Scale("distance to trained vectors", ".4f"),
                series=tuple(
                    Series(name, past_hue(place), dash=dash)
                    for place, (name, dash) in enumerate(names)
                ),
                look="line",
                noun="encoding",
                tips=(),
                height=260,
            ),
            name="Beyond the trained length",
            alt=f"Trained on {trained} positions. Furthest from them: {furthest['series']}, "
            f"position {furthest['at']}, at {furthest['value']:.2f}.",
        )
    else:
        st.caption("Neither encoding has vectors.")
