"""Two positional encodings side by side: choice, views, and the matrix of a shift."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from attnlab import charts
from attnlab.configuration.options import present
from attnlab.lessons.geometry import (
    Profile,
    distances,
    encoding_rows,
    fit_shift,
    profile,
    shift_rotation,
    similarity,
)
from attnlab.positions import (
    POSITIONS,
    AbstractPosition,
    AbstractScorePosition,
    Learned,
    Sinusoidal,
)
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.session_library import session_run
from attnlab.ui.lessons.kit import Grid, choose, draw_figure, draw_matrix, draw_options

IN_THE_RUN = "learned in the run"
MOST_POSITIONS, MOST_FEATURES = 64, 32
_HEIGHT = 330
# By button: the values that it sets, by the key of the control.
_PRESETS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "Blog post, as described and as in its code: base 50, d = 5": {
            "pe_length": 50, "pe_width": 5,
            "pe_a": "blog-described", "pe_a_base": 50, "pe_b": "blog-published", "pe_b_base": 50,
        },
        "Sinusoidal and scalar: base 10,000, d = 2": {
            "pe_length": 40, "pe_width": 2,
            "pe_a": "sinusoidal", "pe_a_base": 10_000, "pe_b": "scalar", "pe_b_period": 20,
        },
    }
)  # fmt: skip
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
        return f"{self.side.upper()}: {self.name}"


def draw_encodings() -> tuple[ShownEncoding, ShownEncoding, int, int]:
    """Draw presets and controls; return both encodings, the length and the width."""
    with st.container(horizontal=True, key="pe_presets"):
        for number, (name, values) in enumerate(_PRESETS.items(), start=1):
            draw_button(name, f"pe_preset_{number}", None, st.session_state.update, values)
    left, right = st.columns(2, gap="medium")
    length = linked(left.slider, "length (positions)", 2, MOST_POSITIONS, 40, key="pe_length")
    width = linked(right.slider, "d (components)", 1, MOST_FEATURES, 8, key="pe_width")
    with left:
        one = _draw_encoding("a", "sinusoidal", length, width)
    with right:
        other = _draw_encoding("b", "learned", length, width)
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
    rows = encoding_rows(position, length=length, width=width)
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


def in_columns(
    draw: Callable[..., None], one: ShownEncoding, other: ShownEncoding, *arguments: Any
) -> None:
    """Call `draw` for both encodings, in two columns."""
    for column, shown in zip(st.columns(2, gap="medium"), (one, other), strict=True):
        with column:
            draw(shown, *arguments)


@fragment
def draw_views(one: ShownEncoding, other: ShownEncoding) -> None:
    """Draw the menu of views, and the chosen view of both encodings."""
    view = choose("view", tuple(VIEWS), key="pe_view")
    components = 1, 2
    if view == "path":
        with st.container(horizontal=True):
            components = tuple(
                linked(st.number_input, f"component {way}", 1, MOST_FEATURES, start, key=key)
                for way, start, key in (("across", 1, "pe_x"), ("upwards", 2, "pe_y"))
            )
    in_columns(_draw_view, one, other, view, components)
    st.caption(f"How to read it: {VIEWS[view]}")
    st.caption(
        "Try this: compare the similarity of `sinusoidal` with that of `learned`, whose initial "
        "values are random. Then train with learned positions and choose “learned in the run”."
    )


def _draw_view(shown: ShownEncoding, view: str, components: tuple[int, int]) -> None:
    if shown.rows is None:
        if isinstance(shown.position, AbstractScorePosition):
            st.info(
                f"`{shown.name}` adds no vector to the input. It changes the attention scores: see "
                "below.",
                icon=":material/arrow_downward:",
            )
        elif shown.name == "none":
            st.info(
                "No positional encoding: without a mask, attention cannot see the order.",
                icon=":material/block:",
            )
        return
    rows, about = shown.rows, f"{shown.name}, {view}:"
    length, width = rows.shape
    key, look = f"pe_{shown.side}", dict[str, Any](name=f"{shown.title}, {view}")
    size = f"{width} components over {length} positions, at most {np.abs(rows).max():.2f}."
    if view == "heatmap":
        grid = Grid(view, rows, "position", "component")
        draw_matrix(st, key, grid, alt=f"{about} {size}", height=_HEIGHT, **look)
    elif view == "curves":
        draw_figure(
            st,
            key,
            charts.component_chart,
            charts.component_table(rows),
            alt=f"{about} {size}",
            domain=(min(0.0, float(rows.min())), max(0.0, float(rows.max()))),
            height=_HEIGHT,
            **look,
        )
    elif view == "similarity":
        grid = Grid(view, similarity(rows), "position", "position")
        about += f" the least cosine is {grid.values.min():.2f}."
        draw_matrix(st, key, grid, alt=about, largest=1.0, meaning="cosine", square=True, **look)
    elif view == "distance":
        found = profile(distances(rows))
        about += f" neighbours are {found.mean[1]:.3f} apart on average."
        draw_profile(key, found, "distance of vectors", alt=about, height=_HEIGHT, **look)
    else:
        x, y = (min(component, width) for component in components)
        drawn = rows[:, [x - 1, y - 1]]
        draw_figure(
            st,
            key,
            charts.path_chart,
            charts.path_table(*drawn.T),
            alt=f"{about} components {x} and {y} of {length} positions.",
            domain=(float(drawn.min()), float(drawn.max())),
            x_title=f"component {x}",
            y_title=f"component {y}",
            **look,
        )


def draw_profile(key: str, found: Profile, title: str, **rest: Any) -> None:
    """Draw a quantity by the distance of two positions, with a band from least to most."""
    of_pairs = charts.series_table("", found.apart, found.mean)
    draw_figure(
        st,
        key,
        charts.lines_chart,
        of_pairs.assign(low=found.least, high=found.most),
        x=charts.Scale("positions apart", "d", labels="d"),
        y=charts.Scale(title, ".4f", zero=False),
        series=(charts.Series("", charts.HUES.truth, dash=(5, 4)),),
        look="band",
        tips=(("low", "least", ".4f"), ("high", "most", ".4f")),
        **rest,
    )


@fragment
def draw_shifts(one: ShownEncoding, other: ShownEncoding) -> None:
    """Draw, for each encoding, the matrix that maps position t to t + k, and its error."""
    shift = linked(st.slider, "k (positions)", 1, 32, 3, key="pe_shift")
    in_columns(_draw_shift, one, other, shift)
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
        found, how = shift_rotation(shown.position, shown.rows, shift), "from its formula"
    else:
        found, how = fit_shift(shown.rows, shift), "the least squares fit"
    draw_matrix(
        st,
        f"shift_{shown.side}",
        Grid(f"{shown.title}, M({shift})", found.matrix, "component at t + k", "component at t"),
        name=f"{shown.title}, M({shift})",
        alt=f"{shown.name}: M({shift}), {how}. Largest error {found.error:.1e}.",
        largest=max(1.0, float(np.abs(found.matrix).max())),
        square=True,
    )
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
