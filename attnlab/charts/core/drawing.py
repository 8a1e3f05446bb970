"""A chart as it is handed on: its form, written once, and the tables that change."""

import dataclasses
import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import altair as alt
import pandas as pd

from attnlab.configuration.position_words import with_position_word

# A page has about ten charts, and a visitor tries a few dozen forms of them.
_MOST_FORMS = 512

# Tables come with the types that they need. To read them as others, Vega makes a copy of every
# row, and keeps a note of each for as long as the chart lives: megabytes a minute in a live one.
_AS_IT_IS = alt.DataFormat(parse=None)

# A title in a form; fields may be called alike, and keep their names.
_TITLE = re.compile(r'"title": (?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])')

# What a chart function sees of a table: its place, never its rows.
Rows = alt.NamedData


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """A Vega-Lite specification as JSON, and the tables its marks are drawn from, by name."""

    form: str
    tables: Mapping[str, pd.DataFrame]

    def specification(self) -> dict[str, Any]:
        """The specification anew, with the tables as they are under `datasets`."""
        form = json.loads(self.form)
        # Rows that belong to the form, such as those of a rule, are there already.
        return form | {"datasets": form.get("datasets", {}) | dict(self.tables)}


def with_position_word_in(drawing: Drawing, word: str) -> Drawing:
    """A drawing whose titles speak of days, with the `position_word` of a process in its place."""
    if word == "day":
        return drawing
    form = _TITLE.sub(lambda found: with_position_word(found[0], word), drawing.form)
    return Drawing(form, drawing.tables)


def drawn_once(build: Callable[..., alt.Chart | alt.LayerChart]) -> Callable[..., Drawing]:
    """Make a function of tables (or None) and hashable options into one that gives a `Drawing`.

    `build` sees each table as a named place, so that the form of the chart cannot depend on the
    rows; it is called once for every combination of options. To build and check a chart takes
    tens of milliseconds, which is most of the time of a page.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    names = [p.name for p in inspect.signature(build).parameters.values() if p.kind != kind]

    @functools.lru_cache(_MOST_FORMS)
    def form(present: tuple[bool, ...], **options: Any) -> str:
        places = [
            alt.NamedData(name, format=_AS_IT_IS) if is_there else None
            for name, is_there in zip(names, present, strict=True)
        ]
        specification = build(*places, **options).to_dict()
        # In the place of Altair's default sizes: a page and a file have their own. Labels at the
        # ends of an axis stand at their ticks; drawn inwards they would meet their neighbours.
        unmoved = {"labelFlush": False}
        specification["config"] = {"axisX": unmoved, "axisY": unmoved}
        return json.dumps(specification)

    @functools.wraps(build)
    def draw(*tables: pd.DataFrame | None, **options: Any) -> Drawing:
        present = tuple(table is not None for table in tables)
        named = zip(names, tables, strict=True)
        return Drawing(
            form(present, **options), {name: table for name, table in named if table is not None}
        )

    return draw
