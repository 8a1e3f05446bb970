"""What a chart is made of, and what of it is drawn."""

import collections
import json
import re

import pandas as pd
import vl_convert

from attnlab.charts import as_picture


def layers_of(spec, above=None):
    """The single layers of a specification, each with the encodings of those around it."""
    encoding = {**(above or {}), **spec.get("encoding", {})}
    if "layer" not in spec:
        yield spec["mark"], encoding
    for layer in spec.get("layer", ()):
        yield from layers_of(layer, encoding)


def scene(drawing, width=300, role="mark"):
    """What is drawn: the kind and the items of every group of marks, or of axis labels."""
    picture, found = as_picture(drawing, title="title", subtitles=["words"], width=width), []

    def walk(node):
        if node.get("role") == role:
            found.append((node["marktype"], node["items"]))
        for item in node.get("items", ()):
            walk(item)

    walk(vl_convert.vegalite_to_scenegraph(picture)["scenegraph"])
    return found


def drawn(drawing):
    """How many items of each kind come from rows, with a place that is a number."""
    found = collections.Counter()
    for kind, items in scene(drawing):
        found[kind] += len(items)
        numbers = [item.get(axis, 0) for item in items for axis in "xy"]
        assert all(isinstance(number, int | float) for number in numbers)
    return dict(found)


def as_svg(specification):
    """The text of a picture of a chart."""
    rows = {name: pd.DataFrame(table) for name, table in specification["datasets"].items()}
    records = {name: json.loads(table.to_json(orient="records")) for name, table in rows.items()}
    return vl_convert.vegalite_to_svg(specification | {"datasets": records})


def letter_sizes(specification):
    """Pixels of the letters of a chart, as they are drawn."""
    return [float(size) for size in re.findall(r'font-size="([\d.]+)px"', as_svg(specification))]
