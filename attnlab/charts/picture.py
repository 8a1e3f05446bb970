"""Charts as files: SVG and PNG, made without a browser and without a network."""

import altair as alt
import pandas as pd
import vl_convert

# Screens and paper want more than one dot a unit.
_DOTS = 2
_PADDING = 16
# As on the page, where the browser adds them.
_CONFIG = {
    "background": "white",
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "gridColor": "#e3e6ee", "titlePadding": 8},
    "legend": {"labelFontSize": 12, "titleFontSize": 12},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "anchor": "start", "offset": 14},
    "view": {"stroke": "transparent"},
}


def as_picture(
    chart: alt.Chart | alt.LayerChart, *, title: str, subtitles: list[str], width: int
) -> alt.Chart | alt.LayerChart:
    """The chart by itself, on white: with a title that says what it shows, and its own data."""
    alone = _with_values(chart).properties(
        title=alt.TitleParams(title, subtitle=subtitles), width=width, padding=_PADDING
    )
    return alone.configure(**_CONFIG)


def to_svg(picture: alt.Chart | alt.LayerChart) -> str:
    """The picture as an SVG document."""
    return vl_convert.vegalite_to_svg(picture.to_dict())


def to_png(picture: alt.Chart | alt.LayerChart) -> bytes:
    """The picture as a PNG file, two dots a unit."""
    return vl_convert.vegalite_to_png(picture.to_dict(), scale=_DOTS)


# How Altair writes tables is a setting of the whole process, which a page that is drawn at this
# moment in another thread has changed, and which `Chart.save` changes. Values in the chart itself
# are not touched by it.
def _with_values(chart: alt.Chart | alt.LayerChart) -> alt.Chart | alt.LayerChart:
    copy = chart.copy(deep=["layer"] if isinstance(chart, alt.LayerChart) else False)
    if isinstance(copy, alt.LayerChart):
        copy.layer = [_with_values(layer) for layer in copy.layer]
    if isinstance(copy.data, pd.DataFrame):
        table = copy.data.astype(object).where(copy.data.notna(), None)
        copy.data = alt.InlineData(values=table.to_dict("records"))
    return copy
