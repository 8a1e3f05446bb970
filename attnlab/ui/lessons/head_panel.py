"""One attention head with editable weights and inputs: its stages, and shuffled inputs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnlab.attention import MASKS, SCORES, AbstractScore, scale_factor
from attnlab.charts import Matrix
from attnlab.configuration.number_text import show_matrix
from attnlab.configuration.options import OptionError
from attnlab.lessons.geometry import encoding_rows
from attnlab.lessons.stages import (
    WORKED_EXAMPLES,
    Head,
    Rows,
    Stages,
    check_shapes,
    compiled_stages,
)
from attnlab.models.parts import Projection
from attnlab.positions import Sinusoidal
from attnlab.ui.controls.address_controls import linked, or_last_good
from attnlab.ui.controls.tables import edit_matrix
from attnlab.ui.core.display import draw_button, on_dark
from attnlab.ui.core.outside import draw_error
from attnlab.ui.lessons import kit

_TITLES = {
    "inputs": "**inputs** x, one per row",
    "asking": "**inputs of the queries**",
    "w_query": ":blue[**W_Q**]",
    "w_key": ":red[**W_K**]",
    "w_value": ":green[**W_V**]",
    "b_query": ":blue[**b_Q**]",
    "b_key": ":red[**b_K**]",
    "b_value": ":green[**b_V**]",
}
_TABLES = ("inputs", "w_query", "w_key", "w_value")
_BIASES = ("b_query", "b_key", "b_value")
_ASKING = ((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0))
# Smaller differences are rounding: outputs are 32-bit numbers of size 1 to 10.
_SAME = 1e-4
_STAGE_TEXTS = {
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
STAGES = tuple(_STAGE_TEXTS)
_ALL, _STAGE_KEY = "all", "step_stage"
# For each score function: a term of its sum, and the formula around the sum.
_TERMS = {
    "dot": (r"({q})({k})", "{sum}"),
    "scaled": (r"({q})({k})", r"\frac{{{sum}}}{{\sqrt{{{d}}}}}"),
    "additive": (r"\tanh({q} + {k})", "{sum}"),
    "gaussian": (r"({q} - {k})^2", r"-\frac{{{sum}}}{{2 \cdot {h}^2}}"),
}


class Bench(NamedTuple):
    """A head to edit: its tables of numbers by name, its score function and its switches."""

    tables: Mapping[str, np.ndarray]
    score: AbstractScore
    scaling: bool
    bias: bool
    cross: bool
    causal: bool

    @property
    def table_names(self) -> tuple[str, ...]:
        """Return the names of the tables that a head with these switches uses."""
        return (*_TABLES, *(("asking",) if self.cross else ()), *(_BIASES if self.bias else ()))

    @property
    def asking(self) -> np.ndarray:
        """Return the inputs from which queries are computed, `(length, features)`."""
        return self.tables["asking" if self.cross else "inputs"]

    @property
    def mask(self) -> str:
        """Return the name of the mask."""
        return "causal" if self.causal else "none"

    @property
    def scale(self) -> float:
        """Return the factor by which scores are multiplied."""
        name = "1/sqrt(d)" if self.scaling else "none"
        return scale_factor(name, d_attn=self.tables["w_query"].shape[1], temperature=1.0)

    @property
    def head(self) -> Head:
        """Return the head's weights and biases; biases are zero if they are switched off."""
        use = float(self.bias)
        parts = ((self.tables[f"w_{name}"], self.tables[f"b_{name}"][0]) for name in Head._fields)
        return Head(*(Projection(weight, use * bias) for weight, bias in parts))

    def stages(self) -> Stages:
        """Compute all stages of the head, with the same functions as in training."""
        inputs = self.asking, self.tables["inputs"]
        mask = np.asarray(MASKS[self.mask](*(jnp.arange(len(rows)) for rows in inputs)))
        return compiled_stages(self.head, *inputs, mask=mask, scale=self.scale, score=self.score)


def draw_bench(place: DeltaGenerator) -> Bench:
    """Draw all controls, that of the example in `place`.

    Returns:
        The bench, with the last valid tables if the new ones are not.
    """
    names, look = list(WORKED_EXAMPLES), {"key": "step_example", "on_change": _reset_tables}
    example = linked(place.selectbox, "example", names, **look)
    place.markdown(WORKED_EXAMPLES[example].lesson)
    with st.container(horizontal=True, key="step_switches", vertical_alignment="bottom"):
        name = linked(st.selectbox, "score function", list(SCORES), key="step_score", width=180)
        score = kit.draw_options(SCORES[name], "step", width=220)
        scaling = linked(st.toggle, "scaling 1/√d", key="step_scaling", disabled=name != "dot")
        bias = linked(st.toggle, "biases", key="step_bias")
        cross = linked(st.toggle, "cross-attention", key="step_cross")
        causal = linked(st.toggle, "causal mask", key="step_causal", disabled=cross)
    st.caption(
        f"Score `{name}`: {score.summary} Scaling applies to `dot` only. Cross-attention has no "
        "causal mask: there is no “earlier” between two sequences."
    )
    bench = Bench({}, score, scaling and name == "dot", bias, cross, causal and not cross)
    found = _draw_tables(example, bench.table_names)
    tables = or_last_good(found, _default_tables(example), key="step_good")
    if found is None:
        st.info("The charts below show the last valid tables.", icon=":material/history:")
    numbers = {name: np.array(rows, dtype=np.float32) for name, rows in _complete(tables).items()}
    return bench._replace(tables=numbers)


def _reset_tables() -> None:
    """Set all tables to the numbers of the chosen example."""
    for name, rows in _default_tables(st.session_state["step_example"]).items():
        if name != "asking" and f"step_{name}" in st.session_state:
            st.session_state[f"step_{name}"] = show_matrix(rows)
    st.session_state.pop("step_good", None)


def _default_tables(example: str) -> dict[str, Rows]:
    return _complete(dict(zip(_TABLES, WORKED_EXAMPLES[example][:4], strict=True)))


def _complete(tables: dict[str, Rows]) -> dict[str, Rows]:
    """Add default inputs of queries and biases where they are missing."""
    features = len(tables["inputs"][0])
    parts = {"asking": tuple((*row, *(0.0,) * features)[:features] for row in _ASKING)}
    for bias in _BIASES:
        width = len(tables[bias.replace("b_", "w_")][0])
        parts[bias] = ((1.0, *(0.0,) * (width - 1)),)
    return parts | tables


def _draw_tables(example: str, names: Sequence[str]) -> dict[str, Rows] | None:
    """Draw the tables to edit; return them, or None if they are invalid."""
    defaults, found, places = _default_tables(example), {}, {}
    columns: list[Any] = []
    for name in names:
        columns = columns or list(st.columns(4, gap="small"))
        places[name] = columns.pop(0).container(key=f"table_step_{name}")
        with places[name]:
            look = {"key": f"step_{name}", "more_rows": name in ("inputs", "asking")}
            found[name] = edit_matrix(name, _TITLES[name], defaults[name], **look)
    if None in found.values():
        return None
    try:
        check_shapes(found)
    except OptionError as error:
        with places[error.name]:
            draw_error(str(error))
        return None
    return found


class Cell(NamedTuple):
    """The chosen query, key and component, from 0."""

    query: int
    key: int
    component: int


def draw_stages(bench: Bench, controls: DeltaGenerator, picture: DeltaGenerator) -> None:
    """Draw controls, the matrices of one stage or all, and the arithmetic of the chosen cell."""
    found, names = bench.stages(), [*STAGES, _ALL]
    sizes = *found.pattern.shape, max(found.keys.shape[1], found.values.shape[1])
    with controls:
        stage = kit.choose("stage", names, key=_STAGE_KEY)
        with kit.control_row("step_buttons"):
            for label, icon, move in (
                ("Previous", "arrow_back", -1),
                ("Next", "arrow_forward", 1),
            ):
                draw_button(label, f"step_{label.lower()}", icon, _move, move)
        with st.container(horizontal=True, gap="xsmall", key="step_cell"):
            cell = Cell(*map(_draw_index, Cell._fields, sizes))
    with picture:
        _draw_stage(bench, found, stage, cell)


def _draw_stage(bench: Bench, found: Stages, stage: str, cell: Cell) -> None:
    matrices, lines = _stage_matrices(bench, found, cell), _stage_lines(bench, found, cell)
    if stage == _ALL:
        kit.draw_matrices(matrices[name][-1] for name in STAGES)
    else:
        st.markdown(_STAGE_TEXTS[stage])
        kit.draw_matrices(matrices[stage])
    with st.container(key="step_arithmetic"):
        for name in STAGES if stage == _ALL else (stage,):
            st.latex(rf"\text{{{name}: }} {lines[name]}")
    st.caption(
        "How to read it: frames mark the chosen query (blue), key (red), value (green) and "
        f"component ({'white' if on_dark() else 'black'}). The formula computes the number in both "
        "frames. Violet is above 0, brown below. Hover for all digits."
    )


def _move(steps: int) -> None:
    names = [*STAGES, _ALL]
    at = names.index(st.session_state.get(_STAGE_KEY, STAGES[0])) + steps
    st.session_state[_STAGE_KEY] = names[max(0, min(at, len(names) - 1))]


def _draw_index(name: str, most: int) -> int:
    key = f"step_at_{name}"
    # The table may have become smaller than the old number.
    if st.session_state.get(key, 1) > most:
        st.session_state[key] = most
    return linked(st.number_input, name, 1, most, 1, key=key, width=120) - 1


def _stage_matrices(bench: Bench, found: Stages, cell: Cell) -> dict[str, list[Matrix]]:
    """Return the matrices of each stage; the last one is the result."""
    query, key, component = (at + 1 for at in cell)
    column = min(component, found.values.shape[1])
    matrices = {}
    for stage, kind, inputs, row in (
        ("queries", "query", bench.asking, query),
        ("keys", "key", bench.tables["inputs"], key),
        ("values", "value", bench.tables["inputs"], key),
    ):
        weight, result = getattr(bench.head, kind).weight, getattr(found, stage)
        at = min(component, weight.shape[1])
        matrices[stage] = [
            Matrix("inputs", inputs, kind, "feature", row),
            Matrix(f"W_{kind[0].upper()}", weight, "feature", "component", None, at, kind),
            Matrix(stage, result, kind, "component", row, at),
        ]
    scores, scaled, masked, pattern = (
        Matrix(name, getattr(found, name), "query", "key", query, key, shares=name == "pattern")
        for name in ("scores", "scaled", "masked", "pattern")
    )
    # Projections without the frame around the component.
    queries, keys, values = (
        matrices[stage][-1]._replace(column=None) for stage in ("queries", "keys", "values")
    )
    title, output = f"weighted values of query {query}", found.output
    weighted = Matrix(title, found.weighted[cell.query], "value", "component", key, column)
    return matrices | {
        "scores": [queries, keys, scores],
        "scaled": [scores, scaled],
        "masked": [scaled, masked],
        "pattern": [masked, pattern],
        "weighted": [pattern, values, weighted],
        "output": [
            weighted._replace(row=None),
            Matrix("output", output, "query", "component", query, column),
        ],
    }


def _stage_lines(bench: Bench, found: Stages, cell: Cell) -> dict[str, str]:
    """Return the formula of each stage in LaTeX, with the numbers of the chosen cell."""
    pair, (query, key, component) = cell[:2], cell
    column = min(component, found.values.shape[1] - 1)
    at, score, share = f"{query + 1},{key + 1}", found.scores[pair], kit.number(found.pattern[pair])
    factor = rf"1 \times {kit.number(score)} = {kit.bold(found.scaled[pair])}"
    factor += r" \quad \text{(scaling is off)}"
    if bench.scaling:
        root = rf"\sqrt{{{found.keys.shape[1]}}}"
        factor = rf"\frac{{{kit.number(score)}}}{{{root}}} = {kit.bold(found.scaled[pair])}"
    mask = r"\text{there is no mask: the score stays }"
    if bench.causal and key > query:
        mask = rf"{key + 1} > {query + 1}\text{{: the key comes later and may not be seen: }}"
    elif bench.causal:
        mask = rf"{key + 1} \le {query + 1}\text{{: may be seen, the score stays }}"
    value, weighted = found.values[key, column], found.weighted[query, :, column]
    output = kit.sum_of(f"({kit.number(part)})" for part in weighted)
    result = kit.bold(found.output[query, column])
    return {
        "queries": _project_line("query", bench, found.queries, query, component),
        "keys": _project_line("key", bench, found.keys, key, component),
        "values": _project_line("value", bench, found.values, key, component),
        "scores": rf"s_{{{at}}} = {_score_line(bench, found, cell)} = {kit.bold(score)}",
        "scaled": factor,
        "masked": mask + kit.bold(found.masked[pair]),
        "pattern": kit.softmax_of(found.masked[query], key, found.pattern[query]),
        "weighted": rf"{share} \times ({kit.number(value)}) = {kit.bold(weighted[key])}",
        "output": rf"o_{{{query + 1},{column + 1}}} = {output} = {result}",
    }


def _project_line(kind: str, bench: Bench, result: np.ndarray, row: int, component: int) -> str:
    inputs = (bench.asking if kind == "query" else bench.tables["inputs"])[row]
    weight, bias = getattr(bench.head, kind)
    column = min(component, weight.shape[1] - 1)
    added = f" + {kit.number(bias[column])}" if bench.bias else ""
    total = kit.products(inputs, weight[:, column])
    at = f"{row + 1},{column + 1}"
    return rf"{kind[0]}_{{{at}}} = {total}{added} = {kit.bold(result[row, column])}"


def _score_line(bench: Bench, found: Stages, cell: Cell) -> str:
    query, key = found.queries[cell.query], found.keys[cell.key]
    term, whole = _TERMS[bench.score.name]
    terms = (
        term.format(
            q=kit.number(q), k=f"({kit.number(k)})" if k < 0 and "{q} " in term else kit.number(k)
        )
        for q, k in zip(query, key, strict=True)
    )
    width = kit.number(getattr(bench.score, "bandwidth", 0))
    return whole.format(sum=kit.sum_of(terms), d=query.size, h=width)


def code_of(bench: Bench) -> str:
    """Return a Python script that computes the same stages."""
    tables = "".join(
        f"{name} = jnp.array({bench.tables[name].tolist()})\n" for name in bench.table_names
    )
    projections = "".join(
        f"    Projection(w_{name}, "
        + (f"b_{name}[0]),\n" if bench.bias else f"jnp.zeros(w_{name}.shape[1])),\n")
        for name in Head._fields
    )
    asking = "asking" if bench.cross else "inputs"
    return (
        "import jax.numpy as jnp\n\n"
        f"from attnlab.attention import MASKS, {type(bench.score).__name__}\n"
        "from attnlab.models.parts import Projection\n"
        "from attnlab.lessons.stages import Head, stages\n\n"
        f"{tables}"
        f"head = Head(\n{projections})\n"
        f'mask = MASKS["{bench.mask}"](jnp.arange(len({asking})), jnp.arange(len(inputs)))\n'
        f"found = stages(\n    head, {asking}, inputs, mask=mask, scale={bench.scale!r}, "
        f"score={bench.score!r}\n)\n"
        "print(found.scores, found.pattern, found.output)"
    )


def draw_sets(bench: Bench) -> None:
    """Draw how the outputs of three heads change when the inputs are shuffled."""
    inputs = bench.tables["inputs"]
    length, features = inputs.shape
    seed = linked(st.number_input, "seed of the shuffle", 1, 1000, 1, key="step_shuffle", width=180)
    order = np.random.default_rng(seed).permutation(length)
    if np.array_equal(order, np.arange(length)):
        # The identity would show nothing.
        order = np.roll(order, 1)
    new, old = (" ".join(str(at + 1) for at in each) for each in (order, range(length)))
    st.markdown(f"The inputs are in the order **{new}** instead of {old}.")
    positions = encoding_rows(Sinusoidal(), length=length, width=features).astype(np.float32)
    lines = ["| head | largest difference | equal outputs |", "|---|---|---|"]
    for name, added, causal in (
        ("no positions, no mask", 0 * positions, False),
        ("sinusoidal positions added", positions, False),
        ("causal mask, no positions", 0 * positions, True),
    ):
        head = bench._replace(cross=False, causal=causal)
        before, after = (
            head._replace(tables={**bench.tables, "inputs": each + added}).stages().output
            for each in (inputs, inputs[order])
        )
        apart = np.abs(after - before[order]).max(axis=1)
        largest = f"{apart.max():.1e}" if apart.max() < 1e-3 else f"{apart.max():.3f}"
        lines.append(f"| {name} | {largest} | {(apart < _SAME).sum()} of {length} |")
    with st.container(key="step_sets"):
        st.markdown("\n".join(lines))
    st.caption(
        "How to read it: the outputs for the shuffled inputs are compared with the shuffled "
        "outputs. Without positions or a mask, outputs are permuted like the inputs, and the "
        "difference is rounding.",
        help="With a causal mask an output depends on its input and on the set of earlier inputs. "
        "It is unchanged where the shuffle leaves this set as it was. Equal inputs also leave "
        "outputs unchanged.",
    )
