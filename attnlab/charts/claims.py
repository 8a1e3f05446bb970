"""Claims about a number of every run: the runs, the claimed range, and the published number."""

from functools import partial

import altair as alt
import pandas as pd

from attnlab.charts.dots import title_of
from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.style import GROUND, HUES, INK
from attnlab.known_results import Check, Verdict

_HEIGHT = 100
# Space beside the numbers, as a share of their range.
_BESIDE = 0.12


def claim_title(check: Check) -> str:
    """Return the name of the number that a claim is about."""
    is_excess = check.measure == "excess"
    name = "loss above the floor (nats)" if is_excess else title_of(check.measure)
    return f"difference in {name}" if check.minus else name


def claim_chart(verdict: Verdict) -> Drawing:
    """Draw the number of every run as a dot, above the claimed range.

    The published number is an open diamond.
    """
    check, numbers = verdict.check, verdict.numbers
    shown = [*numbers.values(), *_finite(check.least, check.most, check.published)]
    margin = _BESIDE * (max(shown) - min(shown)) or 0.1
    domain = min(shown) - margin, max(shown) + margin
    span = max(check.least, domain[0]), min(check.most, domain[1])
    published = None
    if check.published is not None:
        published = pd.DataFrame({"value": [check.published]})
    return _claim(
        pd.DataFrame({"seed": [*numbers], "value": [*numbers.values()]}),
        pd.DataFrame({"low": [span[0]], "high": [span[1]]}),
        published,
        title=claim_title(check),
        domain=domain,
    )


def _finite(*numbers: float | None) -> list[float]:
    return [number for number in numbers if number is not None and abs(number) < float("inf")]


@drawn_once
def _claim(
    runs: Rows, claimed: Rows, published: Rows | None, *, title: str, domain: tuple[float, float]
) -> Chart:
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    axis = alt.Axis(tickCount=5, labelOverlap=True)
    x = partial(alt.X, title=title, scale=scale, axis=axis)
    layers = [
        alt.Chart(claimed)
        .encode(x=x("low:Q"), x2="high:Q")
        .mark_rect(color=HUES.truth, opacity=0.2),
        alt.Chart(runs)
        .encode(x=x("value:Q"), tooltip=[tip("seed:O"), tip("value:Q", title, ".4f")])
        .mark_circle(color=HUES.learned, size=70, opacity=0.9, stroke=GROUND),
    ]
    if published is not None:
        marks = alt.Chart(published).encode(
            x=x("value:Q"), tooltip=[tip("value:Q", "published", ".3f")]
        )
        look = {"shape": "diamond", "size": 130, "strokeWidth": 2, "filled": False, "opacity": 1}
        layers.append(marks.mark_point(color=INK, **look))
    return alt.layer(*layers).properties(height=_HEIGHT)
