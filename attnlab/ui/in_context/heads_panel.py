"""What the heads of a model attend to, over training and on one sequence."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    HUES,
    Scale,
    Series,
    distinct,
    lines_chart,
    series_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import present
from attnlab.inspection import HeadScore, role_of
from attnlab.inspection.head_scores import SHARES
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.in_context.measures import Course, Measured

_HEIGHT, _MAP_HEIGHT = 340, 230
# Half the width of a 95 % interval, in standard errors.
_INTERVAL = 1.96
_LEARNED = Series("share learned", HUES.learned)
_NAMES = {
    "prefix_match": "prefix match",
    "previous_token": "previous token",
    "true_sources": "true sources",
}


def head_title(score: HeadScore) -> str:
    """Return the short name of a head, such as "L2 H1"."""
    return f"L{score.layer} H{score.head}"


def _strongest(heads: Sequence[HeadScore], measure: str) -> int | None:
    """Return the index of the head with the largest share, or None if the share is not defined."""
    shares = np.array([getattr(each, measure) for each in heads])
    return None if np.isnan(shares).all() else int(np.nanargmax(shares))


def draw_heads(measured: Measured, course: Course) -> None:
    """Draw the shares of the strongest heads over training, beside the share learned."""
    st.markdown("**What do the heads attend to?**")
    if not measured.heads:
        st.caption("This model has no attention.")
        return
    st.caption(
        "Each line is the head with the largest share of that kind, such as "
        f"{link_to('prefix match')}. Bands are 95 % intervals over sequences; step 0 is untrained.",
        help="**Prefix match** averages over all tokens that occurred before. **True sources** "
        "averages over the predicted tokens only, so it may be larger.",
    )
    tables = [series_table(_LEARNED.name, course.steps, course.learned())]
    for measure, name in _shown_measures(measured.heads).items():
        place = present(_strongest(measured.heads, measure))
        title = f"{name}, {head_title(measured.heads[place])}"
        values, errors = course.heads(place, measure)
        tables.append(series_table(title, course.steps, values, _INTERVAL * errors))
    lowest, place = 0.0, _strongest(measured.heads, "prefix_match")
    if place is not None and not np.isnan(measured.heads[place].copying):
        copying = np.array([each.heads[place].copying for each in course.results])
        title = f"copying, {head_title(measured.heads[place])}"
        tables.append(series_table(title, course.steps, copying))
        lowest = min(lowest, float(np.nanmin(copying)))
    names = [str(each["series"].iloc[0]) for each in tables[1:]]
    draw_chart(
        lines_chart(
            pd.concat(tables),
            x=Scale("step", ",d", ",d"),
            y=Scale("share or score", ".3f", "%", domain=(lowest, 1.0)),
            series=(_LEARNED, *distinct(names)),
            look="band",
            noun="share",
            tips=(),
            height=_HEIGHT,
        ),
        name="What the heads attend to",
        alt=f"Attention of the strongest heads over {len(course.steps)} steps: {', '.join(names)}; "
        "and the share of the loss that is learned.",
    )


def _shown_measures(heads: Sequence[HeadScore]) -> dict[str, str]:
    """Return the measures to draw, with their names: those that are defined and different."""
    rows = np.array([[getattr(each, name) for name in SHARES] for each in heads])
    shares = dict(zip(SHARES, rows.T, strict=True))
    if np.allclose(shares["true_sources"], shares["prefix_match"], atol=1e-4):
        del shares["true_sources"]
    return {name: _NAMES[name] for name, each in shares.items() if not np.isnan(each).all()}


def draw_head_table(measured: Measured, course: Course) -> None:
    """Draw the shares of every head before training and at the shown step."""
    if not measured.heads:
        return
    before = course.results[0].heads
    names = _shown_measures(measured.heads)
    rows = [
        {
            "head": f"{head_title(score)} {role_of(score, start)}".rstrip(),
            **{name: _change(start, score, measure) for measure, name in names.items()},
            "copying": f"{start.copying:.2f} → {score.copying:.2f}".replace("-", "−"),
        }
        for score, start in zip(measured.heads, before, strict=True)
    ]
    st.markdown("**All heads**, untrained → shown step")
    st.caption(
        "A head is called induction (by prefix match) or previous token if that share is at least "
        "0.4, and 0.2 above untrained. ± is one standard error.",
        help="**Copying**: 1 if attending to a token raises the logit of the same token, −1 if it "
        "lowers it. It is Σλ / Σ|λ| over the eigenvalues of the head's output–value (OV) circuit "
        "(Elhage et al. 2021).",
    )
    st.table(pd.DataFrame(rows).set_index("head"))


def _change(before: HeadScore, now: HeadScore, measure: str) -> str:
    share, error = getattr(now, measure), getattr(now, f"{measure}_stderr")
    return f"{getattr(before, measure):.2f} → {show_measured(share, error)}"
