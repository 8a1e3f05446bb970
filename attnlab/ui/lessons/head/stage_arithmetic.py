"""The arithmetic of one cell of one stage, written out with its numbers."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from attnlab.lessons.stages import Stages
from attnlab.ui.lessons.head.head_controls import Bench

# Longer sums are cut in the middle.
_MOST_TERMS = 6
# Of each score: a term of its sum, and what is done with the sum.
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


def cell_latex(stage: str, bench: Bench, found: Stages, cell: Cell) -> str:
    """The formula of the stage with the numbers of the cell plugged in."""
    return _LINES[stage](bench, found, cell)


def number(value: float | np.floating) -> str:
    """Up to six digits that tell, as LaTeX."""
    if np.isneginf(value):
        return r"-\infty"
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    digits, exponent = text.split("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}"


def _sum(terms: Iterable[str]) -> str:
    terms = list(terms)
    if len(terms) > _MOST_TERMS:
        terms = [*terms[: _MOST_TERMS - 2], r"\dots", terms[-1]]
    return " + ".join(terms)


def _projected(kind: str, rows: str, symbol: str):
    def line(bench: Bench, found: Stages, cell: Cell) -> str:
        at = cell.query if kind == "query" else cell.key
        inputs = (bench.asking if kind == "query" else bench.tables["inputs"])[at]
        weight, bias = getattr(bench.head, kind)
        column = min(cell.component, weight.shape[1] - 1)
        terms = _sum(
            f"({number(x)})({number(w)})" for x, w in zip(inputs, weight[:, column], strict=True)
        )
        added = f" + {number(bias[column])}" if bench.switches.bias else ""
        result = number(getattr(found, rows)[at, column])
        return rf"{symbol}_{{{at + 1},{column + 1}}} = {terms}{added} = \mathbf{{{result}}}"

    return line


def _scores(bench: Bench, found: Stages, cell: Cell) -> str:
    score = bench.switches.score
    query, key = found.queries[cell.query], found.keys[cell.key]
    term, whole = _TERMS[score.name]
    terms = _sum(
        term.format(q=number(q), k=f"({number(k)})" if k < 0 and "{q} " in term else number(k))
        for q, k in zip(query, key, strict=True)
    )
    whole = whole.format(sum=terms, d=query.size, h=number(getattr(score, "bandwidth", 0)))
    at = f"{cell.query + 1},{cell.key + 1}"
    return rf"s_{{{at}}} = {whole} = \mathbf{{{number(found.scores[cell[:2]])}}}"


def _scaled(bench: Bench, found: Stages, cell: Cell) -> str:
    score, scaled = (number(part[cell[:2]]) for part in (found.scores, found.scaled))
    if not bench.switches.scaling:
        return rf"1 \times {score} = \mathbf{{{scaled}}} \quad \text{{(scaling is off)}}"
    return rf"\frac{{{score}}}{{\sqrt{{{found.keys.shape[1]}}}}} = \mathbf{{{scaled}}}"


def _masked(bench: Bench, found: Stages, cell: Cell) -> str:
    query, key = cell.query + 1, cell.key + 1
    if not bench.switches.causal:
        said = r"\text{there is no mask: the score stays }"
    elif key > query:
        said = rf"{key} > {query}\text{{: the key comes later and may not be seen: }}"
    else:
        said = rf"{key} \le {query}\text{{: may be seen, the score stays }}"
    return said + rf"\mathbf{{{number(found.masked[cell[:2]])}}}"


def _pattern(bench: Bench, found: Stages, cell: Cell) -> str:
    scores = found.masked[cell.query]
    terms = _sum(f"e^{{{number(score)}}}" for score in scores if np.isfinite(score))
    share = number(found.pattern[cell[:2]])
    top = number(scores[cell.key]) if np.isfinite(scores[cell.key]) else r"-\infty"
    return rf"\frac{{e^{{{top}}}}}{{{terms}}} = \mathbf{{{share}}}"


def _weighted(bench: Bench, found: Stages, cell: Cell) -> str:
    column = min(cell.component, found.values.shape[1] - 1)
    share, value = found.pattern[cell[:2]], found.values[cell.key, column]
    result = number(found.weighted[cell.query, cell.key, column])
    return rf"{number(share)} \times ({number(value)}) = \mathbf{{{result}}}"


def _output(bench: Bench, found: Stages, cell: Cell) -> str:
    column = min(cell.component, found.values.shape[1] - 1)
    terms = _sum(f"({number(part)})" for part in found.weighted[cell.query, :, column])
    result = number(found.output[cell.query, column])
    return rf"o_{{{cell.query + 1},{column + 1}}} = {terms} = \mathbf{{{result}}}"


_LINES = {
    "queries": _projected("query", "queries", "q"),
    "keys": _projected("key", "keys", "k"),
    "values": _projected("value", "values", "v"),
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "pattern": _pattern,
    "weighted": _weighted,
    "output": _output,
}
STAGES = tuple(_LINES)
