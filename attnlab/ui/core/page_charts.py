"""Charts on the page, each with a menu that saves it or shows a link to the page."""

import re
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import streamlit as st

from attnlab.charts import Drawing, as_picture, in_file_size, to_png, to_svg
from attnlab.result_card import ResultCard
from attnlab.ui.core.card_files import draw_card_files, draw_card_of_run
from attnlab.ui.core.display import draw_download, has_large_type, on_dark
from attnlab.ui.core.film import draw_film_download
from attnlab.ui.core.session import session

# Width in pixels of an exported chart.
_WIDTH = 640
# Letters of a line of a caption, which fit into that width.
_CAPTION_LETTERS = 95
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
# Pages about the session's run, whose film is beside the picture.
_OF_RUN = ("", "train", "inspect", "beliefs", "in_context", "sequence_to_sequence")
_FORMATS = {"SVG": ("image/svg+xml", to_svg), "PNG": ("image/png", to_png)}


class DrawnChart(NamedTuple):
    """A chart of the page, its text alternative, its caption as Markdown, and a card if it has one.

    `card` makes the card of the result that the chart shows.
    """

    drawing: Drawing
    alt: str
    caption: str = ""
    card: Callable[[], ResultCard] | None = None


def draw_chart(
    drawing: Drawing,
    *,
    name: str,
    alt: str,
    key: str | None = None,
    caption: str = "",
    card: Callable[[], ResultCard] | None = None,
    fills: bool = False,
    on_select: str | Callable[..., None] = "ignore",
    selection_mode: str | None = None,
) -> Any:
    """Draw a chart as wide as its container, or in its own width if it has one.

    Args:
        drawing: The chart.
        name: The chart's name in its file; unique on a page.
        alt: The chart's text alternative.
        key: As in `st.vega_lite_chart`.
        caption: What the chart shows, for its file, as Markdown.
        card: Makes the card of the result that the chart shows.
        fills: Whether the chart is as high as its container, which must have a height.
        on_select: As in `st.vega_lite_chart`.
        selection_mode: As in `st.vega_lite_chart`.

    Returns:
        The return value of `st.vega_lite_chart`: with `on_select`, the selections by name.
    """
    session().charts[name] = DrawnChart(drawing, alt, caption, card)
    specification = drawing.specification(dark=on_dark(), large=has_large_type())
    # The overloads want `on_select` as a literal.
    draw: Any = st.vega_lite_chart
    with st.container(key=f"figure_{_slug(name)}", height="stretch" if fills else "content"):
        drawn = draw(
            spec=specification,
            width="content" if "width" in specification else "stretch",
            height="stretch" if fills else "content",
            alt=alt,
            key=key,
            on_select=on_select,
            selection_mode=selection_mode,
        )
        _draw_menu(name)
    return drawn


def draw_view(
    title: str,
    drawing: Drawing,
    words: str,
    *,
    alt: str,
    explanation: str | None = None,
    note: str = "",
    **options: Any,
) -> Any:
    """Draw a chart below its title and a sentence; return the selections as `draw_chart` does.

    Args:
        title: The title, which is also the chart's name in files; unique on a page.
        drawing: The chart.
        words: What the chart shows.
        alt: The chart's text alternative.
        explanation: A tooltip of the sentence.
        note: Text after the title, such as the step.
        options: Further arguments of `draw_chart`.
    """
    st.markdown(f"**{title}**{note}")
    st.caption(words, help=explanation)
    return draw_chart(drawing, name=title, alt=alt, caption=words, **options)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def _draw_menu(name: str) -> None:
    """Draw the icon in the chart's corner; its menu has files of the chart and the page's link."""
    slug = _slug(name)
    menu = st.popover(
        f"Save or share “{name}”",
        icon=":material/share:",
        type="tertiary",
        key=f"share_{slug}",
        on_change="rerun",
    )
    if not menu.open:
        return
    charts, dark = session().charts, on_dark()
    with menu:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            title = name if st.toggle("title", value=True, key=f"share_{slug}_title") else ""
            caption = charts[name].caption if title else ""
            if caption and not st.toggle("caption", key=f"share_{slug}_caption"):
                caption = ""
            words = {"title": title, "caption": caption, "dark": dark}
            for kind, (mime, make) in _FORMATS.items():
                draw_download(
                    kind,
                    f"attnlab-{slug}.{kind.lower()}",
                    mime,
                    # With the chart's data when the button is pressed.
                    lambda make=make: make(chart_picture(charts[name], **words)),
                    key=f"share_{slug}_{kind.lower()}",
                )
        run = session().run
        if session().page in _OF_RUN and run is not None and run.snapshot().latest is not None:
            draw_film_download(run, f"share_{slug}_film")
            st.caption("The interactive page plays the whole run in any browser.")
            draw_card_of_run(run, f"share_{slug}")
        if (card := charts[name].card) is not None:
            draw_card_files(card, slug, f"share_{slug}")
        st.caption(
            "SVG and PNG have the chart as you see it. The SVG also has its description for "
            "screen readers."
        )
        st.markdown("This link opens the page with its settings.")
        st.code(_link(), language=None, wrap_lines=True)


def _link() -> str:
    """Return the address of the page, with the settings that a bare address leaves out."""
    query = urlencode(session().address | st.query_params.to_dict())
    return urlsplit(st.context.url or "")._replace(query=query, fragment="").geturl()


def chart_picture(
    chart: DrawnChart, *, title: str, caption: str = "", dark: bool
) -> dict[str, Any]:
    """Return a chart's specification for export, with its description, and a title unless it is "".

    Args:
        chart: The chart.
        title: The title, or "" for none, which leaves out the caption, too.
        caption: The caption as Markdown, or "" for none.
        dark: Whether it has the colours of the dark theme.
    """
    # Without the marks of links and of bold words.
    words = _LINK.sub(r"\1", caption).replace("**", "")
    picture = as_picture(
        chart.drawing,
        title=title,
        subtitles=textwrap.wrap(words, _CAPTION_LETTERS),
        description=chart.alt,
        width=_WIDTH,
        dark=dark,
    )
    return in_file_size(picture)
