"""Where a positional encoding fails: rows too alike, and rows that training never met."""

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import encoding_lines_chart
from attnlab.lessons.geometry import TOO_ALIKE, Closest, closest_pair, novelty, wavelengths
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.encodings.encoding_controls import ShownEncoding


def draw_waves(shown: ShownEncoding) -> None:
    """The wavelengths of the components, and the two positions that are hardest to tell apart."""
    length, width = (0, 0) if shown.rows is None else shown.rows.shape
    waves = wavelengths(shown.position, width) if width else None
    if waves is None or not waves.size:
        st.markdown(f"`{shown.name}` has no wavelengths to draw.")
    else:
        table = pd.DataFrame(
            {
                "component": np.arange(1, len(waves) + 1),
                "wavelength (positions)": [f"{wave:,.2f}" for wave in waves],
                f"turns in {length} positions": [f"{length / wave:.3f}" for wave in waves],
            }
        )
        st.dataframe(
            table,
            hide_index=True,
            height=min(38 + 35 * len(waves), 38 + 35 * 8),
            # As texts they keep their digits, and as numbers they stand at the right.
            column_config={
                name: st.column_config.TextColumn(name, alignment="right") for name in table
            },
        )
    if shown.rows is None or length < 2:
        return
    pair = closest_pair(shown.rows)
    text = (
        f"`{shown.name}`: {_closest_in_words(pair)}, with a distance of {pair.distance:.3f}. "
        f"Two rows typically have a distance of {pair.typical:.3f}."
    )
    if pair.distance < TOO_ALIKE * pair.typical:
        draw_warning(
            f"{text} Below {TOO_ALIKE:.0%} of the typical distance, a model needs large weights "
            "to tell two positions apart.",
            icon=":material/blur_on:",
        )
    else:
        st.markdown(text)


def _closest_in_words(pair: Closest) -> str:
    if pair.lag is not None:
        return f"all {pair.ties} pairs of days {pair.lag} apart are the most similar"
    words = f"days {pair.one + 1} and {pair.other + 1} are the most similar"
    return words + f", as are {pair.ties - 1} other pairs" * (pair.ties > 1)


def draw_beyond(shown: tuple[ShownEncoding, ...], trained: int) -> None:
    """How far the rows of later positions lie from everything met in training."""
    lines, names = [], []
    for one in shown:
        if one.rows is None:
            continue
        name = f"{one.side.upper()}: {one.name}"
        names.append(name)
        # A free vector exists for trained positions alone.
        last = trained if getattr(one.position, "trainable", False) else len(one.rows)
        values = novelty(one.rows[:last], min(trained, last))
        lines.append(
            pd.DataFrame({"at": np.arange(1, len(values) + 1), "value": values, "series": name})
        )
    if not lines:
        st.caption("Neither encoding has rows.")
        return
    table = pd.concat(lines)
    furthest = table.iloc[int(table["value"].to_numpy().argmax())]
    with st.container(key="chart_beyond"):
        draw_chart(
            encoding_lines_chart(
                table,
                x_title="position (day)",
                y_title="distance to trained rows",
                names=tuple(names),
                boundary=(trained + 0.5, "trained up to here"),
                dark=on_dark(),
                height=260,
            ),
            name="Beyond the trained length",
            alt=f"Trained on {trained} positions. Furthest from them: {furthest['series']}, "
            f"position {furthest['at']}, at {furthest['value']:.2f}.",
        )
