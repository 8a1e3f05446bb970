"""An attention pattern as a heatmap: rows are queries, columns are keys."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import share_ramp
from attnlab.charts.core.days import query_key_cells
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend


def pattern_table(
    pattern: Float[np.ndarray, "query key"],
    unmasked: Bool[np.ndarray, "query key"],
    symbols: Sequence[str] | None,
    *,
    first_query: int = 1,
) -> pd.DataFrame:
    """A row for every cell that the mask admits; days count from 1.

    `symbols` are the tokens of the days, or None for a mean over many sequences; `first_query`
    is the day of the first row.
    """
    query, key = np.nonzero(unmasked)
    days = np.arange(1, pattern.shape[1] + 1)
    names = [f"{day} {s}" for day, s in zip(days, symbols, strict=True)] if symbols else days
    return pd.DataFrame(
        {
            "query": query + first_query,
            "key": key + 1,
            "share": pattern[query, key].astype(float),
            "query_day": np.asarray(names).astype(str)[query + first_query - 1],
            "key_day": np.asarray(names).astype(str)[key],
        }
    )


@drawn_once
def pattern_chart(
    table: Rows,
    *,
    length: int,
    symbols: tuple[str, ...] | None,
    dark: bool,
    height: int,
    meaning: str = "share of attention",
    titles: tuple[str, str] = ("key: day attended to →", "← query: day that attends"),
    queries: tuple[int, ...] | None = None,
    keys: tuple[int, ...] | None = None,
    clicked: str | None = None,
) -> alt.Chart:
    """Share of each query's attention that each key gets, on a fixed scale from 0 to 1.

    Cells that the mask forbids are not drawn. `meaning` names the colour, `titles` the days and
    the queries; `queries` and `keys` are the days of rows and columns, if not all. The cell that
    is clicked is the selection of the name `clicked`. Only `table` may change while one
    sequence is watched.
    """
    all_days = list(range(1, length + 1))
    days = all_days if keys is None else list(keys)
    rows = all_days if queries is None else list(queries)
    ramp = share_ramp(dark=dark)
    chart = query_key_cells(
        table,
        queries=rows,
        keys=days,
        titles=titles,
        symbols=symbols,
        dark=dark,
        height=height,
    ).encode(
        color=alt.Color(
            "share:Q",
            title=meaning,
            scale=alt.Scale(domain=[0, 1], range=list(ramp), clamp=True),
            legend=ramp_legend(values=[0, 0.5, 1], format=".1f", titleLimit=140),
        ),
        tooltip=[
            alt.Tooltip("query_day:N", title="query day"),
            alt.Tooltip("key_day:N", title="key day"),
            alt.Tooltip("share:Q", title=meaning, format=".3f"),
        ],
    )
    if clicked is None:
        return chart
    return chart.add_params(alt.selection_point(name=clicked, fields=["query", "key"]))
