"""One map less another, cell by cell."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import signed_ramp
from attnlab.charts.core.days import query_key_cells
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend


def difference_table(
    one: Float[np.ndarray, "query day"],
    other: Float[np.ndarray, "query day"],
    first_query: int,
    *,
    seen: Bool[np.ndarray, "query day"] | None = None,
) -> pd.DataFrame:
    """one - other at every cell of `seen`, by default those on and below the diagonal."""
    query, day = np.nonzero(
        np.tri(*one.shape, first_query - 1, dtype=bool) if seen is None else seen
    )
    values = (one - other)[query, day]
    return pd.DataFrame({"query": query + first_query, "key": day + 1, "difference": values})


@drawn_once
def difference_chart(
    table: Rows,
    *,
    length: int,
    most: float,
    dark: bool,
    height: int,
    title: str = "difference of shares",
    queries: tuple[int, ...] | None = None,
) -> alt.Chart:
    """A difference of two maps from -most to most; `queries` are the rows, if not all days."""
    days = list(range(1, length + 1))
    rows = days if queries is None else list(queries)
    ramp = signed_ramp(dark=dark)
    return query_key_cells(
        table,
        queries=rows,
        keys=days,
        titles=("key day →", "← query day"),
        dark=dark,
        height=height,
    ).encode(
        color=alt.Color(
            "difference:Q",
            title=title,
            scale=alt.Scale(domain=[-most, 0, most], range=list(ramp), clamp=True),
            legend=ramp_legend(values=[-most, 0, most], format=".3~g", titleLimit=160),
        ),
        tooltip=[
            alt.Tooltip("query:O", title="query day"),
            alt.Tooltip("key:O", title="key day"),
            alt.Tooltip("difference:Q", title=title, format="+.3f"),
        ],
    )
