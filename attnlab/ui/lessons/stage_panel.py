"""The stages of an attention head as matrices, and the arithmetic of one cell."""

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from attnlab.lessons.stages import Stages
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import draw_button, on_dark
from attnlab.ui.lessons.head_panel import Bench
from attnlab.ui.lessons.kit import Grid, bold, draw_grids, number, products, softmax_of, sum_of

_ALL = "all"
_KEY = "step_stage"
_TEXTS = {
    "queries": "Each input times :blue[W_Q] is a query.",
    "keys": "Each input times :red[W_K] is a key.",
    "values": "Each input times :green[W_V] is a value: what it contributes.",
    "scores": "How well each :blue[query] matches each :red[key].",
    "scaled": "The scores times a factor, so that they do not grow with the width of the head.",
    "masked": "Pairs that may not see each other get −∞, which the softmax turns into exactly 0.",
    "pattern": "The softmax of every row: shares between 0 and 1 that sum to 1.",
    "weighted": "The values of all keys, each times its share for the chosen query.",
    "output": "Their sum: the output for the query.",
}
STAGES = tuple(_TEXTS)
_KINDS = {"queries": "query", "keys": "key", "values": "value"}
# For each score function: a term of its sum, and the formula around the sum.
_TERMS = {
    "dot": (r"({q})({k})", "{sum}"),
    "scaled": (r"({q})({k})", r"\frac{{{sum}}}{{\sqrt{{{d}}}}}"),
    "additive": (r"\tanh({q} + {k})", "{sum}"),
    "gaussian": (r"({q} - {k})^2", r"-\frac{{{sum}}}{{2 \cdot {h}^2}}"),
}


class Cell(NamedTuple):
    """The chosen query, key and component, from 0."""

    query: int
    key: int
    component: int


def draw_stages(bench: Bench) -> None:
    """Draw controls, the matrices of one stage or all, and the arithmetic of the chosen cell."""
    found = bench.stages()
    with st.container(horizontal=True, key="step_buttons"):
        for label, icon, move in (
            ("Previous", "arrow_back", lambda at: at - 1),
            ("Next", "arrow_forward", lambda at: at + 1),
            ("All", "grid_view", lambda _: len(STAGES)),
        ):
            draw_button(label, f"step_{label.lower()}", icon, _move, move)
    stage = linked(
        st.segmented_control, "stage", [*STAGES, _ALL], default="queries", required=True, key=_KEY
    )
    sizes = *found.pattern.shape, max(found.keys.shape[1], found.values.shape[1])
    with st.container(horizontal=True, key="step_cell"):
        cell = Cell(*map(_draw_index, Cell._fields, sizes))
    if stage == _ALL:
        draw_grids({f"step_all_{name}": _grids(name, bench, found, cell)[-1] for name in STAGES})
    else:
        st.markdown(_TEXTS[stage])
        grids = enumerate(_grids(stage, bench, found, cell))
        draw_grids({f"step_{stage}_{place}": grid for place, grid in grids})
    st.caption(
        "How to read it: frames mark the chosen query (blue), key (red), value (green) and "
        f"component ({'white' if on_dark() else 'black'}). The number in both frames is computed "
        "below. Violet is above 0, brown below. Hover for all digits."
    )
    with st.container(key="step_arithmetic"):
        for name in STAGES if stage == _ALL else (stage,):
            st.latex(rf"\text{{{name}: }} " + _line(name, bench, found, cell))


def _move(move: Callable[[int], int]) -> None:
    names = [*STAGES, _ALL]
    at = names.index(st.session_state.get(_KEY, STAGES[0]))
    st.session_state[_KEY] = names[max(0, min(move(at), len(names) - 1))]


def _draw_index(name: str, most: int) -> int:
    key = f"step_at_{name}"
    # The table may have become smaller than the old number.
    if st.session_state.get(key, 1) > most:
        st.session_state[key] = most
    return linked(st.number_input, name, 1, most, 1, key=key, width=140) - 1


def _grids(stage: str, bench: Bench, found: Stages, cell: Cell) -> list[Grid]:
    """Return the matrices of a stage; the last one is the result."""
    query, key = cell.query + 1, cell.key + 1
    if kind := _KINDS.get(stage):
        rows, row = (bench.asking, query) if kind == "query" else (bench.tables["inputs"], key)
        weight = getattr(bench.head, kind).weight
        column = min(cell.component + 1, weight.shape[1])
        return [
            Grid("inputs", rows, kind, "feature", row),
            Grid(f"W_{kind[0].upper()}", weight, "feature", "component", None, column, kind),
            Grid(stage, getattr(found, stage), kind, "component", row, column),
        ]
    if stage == "scores":
        return [
            Grid("queries", found.queries, "query", "component", query),
            Grid("keys", found.keys, "key", "component", key),
            _pairs(stage, found, cell),
        ]
    if stage in ("scaled", "masked", "pattern"):
        before = STAGES[STAGES.index(stage) - 1]
        return [_pairs(before, found, cell), _pairs(stage, found, cell)]
    column = min(cell.component + 1, found.values.shape[1])
    title, values = f"weighted values of query {query}", found.weighted[cell.query]
    if stage == "weighted":
        return [
            _pairs("pattern", found, cell),
            Grid("values", found.values, "value", "component", key),
            Grid(title, values, "value", "component", key, column),
        ]
    return [
        Grid(title, values, "value", "component", None, column),
        Grid("output", found.output, "query", "component", query, column),
    ]


def _pairs(stage: str, found: Stages, cell: Cell) -> Grid:
    at = cell.query + 1, cell.key + 1
    return Grid(stage, getattr(found, stage), "query", "key", *at, shares=stage == "pattern")


def _line(stage: str, bench: Bench, found: Stages, cell: Cell) -> str:
    """Return the formula of a stage in LaTeX, with the numbers of the chosen cell."""
    at = f"{cell.query + 1},{cell.key + 1}"
    if stage in _KINDS:
        return _projected(stage, bench, found, cell)
    if stage == "scores":
        return rf"s_{{{at}}} = {_score(bench, found, cell)} = {bold(found.scores[cell[:2]])}"
    scaled = found.scaled[cell[:2]]
    if stage == "scaled":
        score = number(found.scores[cell[:2]])
        if not bench.scaling:
            return rf"1 \times {score} = {bold(scaled)} \quad \text{{(scaling is off)}}"
        return rf"\frac{{{score}}}{{\sqrt{{{found.keys.shape[1]}}}}} = {bold(scaled)}"
    if stage == "masked":
        return _mask_line(bench, cell) + bold(found.masked[cell[:2]])
    if stage == "pattern":
        return softmax_of(found.masked[cell.query], cell.key, found.pattern[cell.query])
    column = min(cell.component, found.values.shape[1] - 1)
    if stage == "weighted":
        share = number(found.pattern[cell[:2]])
        result = bold(found.weighted[cell.query, cell.key, column])
        return rf"{share} \times ({number(found.values[cell.key, column])}) = {result}"
    terms = (f"({number(part)})" for part in found.weighted[cell.query, :, column])
    result = bold(found.output[cell.query, column])
    return rf"o_{{{cell.query + 1},{column + 1}}} = {sum_of(terms)} = {result}"


def _projected(stage: str, bench: Bench, found: Stages, cell: Cell) -> str:
    kind = _KINDS[stage]
    at = cell.query if kind == "query" else cell.key
    inputs = (bench.asking if kind == "query" else bench.tables["inputs"])[at]
    weight, bias = getattr(bench.head, kind)
    column = min(cell.component, weight.shape[1] - 1)
    added = f" + {number(bias[column])}" if bench.bias else ""
    result = bold(getattr(found, stage)[at, column])
    total = products(inputs, weight[:, column])
    return rf"{kind[0]}_{{{at + 1},{column + 1}}} = {total}{added} = {result}"


def _score(bench: Bench, found: Stages, cell: Cell) -> str:
    query, key = found.queries[cell.query], found.keys[cell.key]
    term, whole = _TERMS[bench.score.name]
    terms = (
        term.format(q=number(q), k=f"({number(k)})" if k < 0 and "{q} " in term else number(k))
        for q, k in zip(query, key, strict=True)
    )
    width = number(getattr(bench.score, "bandwidth", 0))
    return whole.format(sum=sum_of(terms), d=query.size, h=width)


def _mask_line(bench: Bench, cell: Cell) -> str:
    query, key = cell.query + 1, cell.key + 1
    if not bench.causal:
        return r"\text{there is no mask: the score stays }"
    if key > query:
        return rf"{key} > {query}\text{{: the key comes later and may not be seen: }}"
    return rf"{key} \le {query}\text{{: may be seen, the score stays }}"
