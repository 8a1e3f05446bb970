"""What predictions depend on and attend to: heatmaps of query against key."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.core.colours import share_ramp, truth_ramp
from attnlab.charts.core.days import query_key_cells
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend


def dependence_table(
    values: Float[np.ndarray, "query day"],
    stderr: Float[np.ndarray, "query day"] | None = None,
    *,
    seen: Bool[np.ndarray, "query day"] | None = None,
    first_query: int = 1,
) -> pd.DataFrame:
    """A row for every cell of `seen`, by default the days up to the query; days count from 1.

    `first_query` is the day of the first row.
    """
    query, key = np.nonzero(np.tri(*values.shape, dtype=bool) if seen is None else seen)
    errors = {} if stderr is None else {"error": stderr[query, key]}
    return pd.DataFrame(
        {"query": query + first_query, "key": key + 1, "value": values[query, key], **errors}
    )


@drawn_once
def dependence_chart(
    table: Rows,
    *,
    length: int,
    title: str,
    most: float,
    dark: bool,
    height: int,
    learned: bool = False,
    errors: bool = True,
    titles: tuple[str, str] = ("key: day depended on →", "← query: last day seen"),
    queries: tuple[int, ...] | None = None,
) -> alt.Chart:
    """A value from 0 to `most` for each query day and key day, named by `title`.

    What is true is grey, what was `learned` violet. `errors`: whether the table has standard
    errors; `titles` name the days and the queries, which are all days unless `queries` lists them.
    """
    days = list(range(1, length + 1))
    rows = days if queries is None else list(queries)
    ramp = share_ramp(dark=dark) if learned else truth_ramp(dark=dark)
    tooltip = [
        alt.Tooltip("query:O", title="query day"),
        alt.Tooltip("key:O", title="key day"),
        alt.Tooltip("value:Q", title=title, format=".4f"),
    ]
    if errors:
        tooltip.append(alt.Tooltip("error:Q", title="± standard error", format=".4f"))
    return query_key_cells(
        table,
        queries=rows,
        keys=days,
        titles=titles,
        dark=dark,
        height=height,
    ).encode(
        color=alt.Color(
            "value:Q",
            title=title,
            scale=alt.Scale(domain=[0, most], range=list(ramp), clamp=True),
            legend=ramp_legend(
                length=72, values=[0, most / 2, most], format=".3~g", titleLimit=160
            ),
        ),
        tooltip=tooltip,
    )
