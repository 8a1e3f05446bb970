"""A head to be taken apart: its tables, its switches, and the last ones that made sense."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.attention import MASKS, SCORES, AbstractScore, scale_factor
from attnlab.configuration.number_text import show_matrix
from attnlab.configuration.options import OptionError, default_of, label_of, options_of
from attnlab.lessons.stages import (
    WORKED_EXAMPLES,
    Head,
    Rows,
    Stages,
    check_shapes,
    compiled_stages,
)
from attnlab.models.parts import Projection
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.controls.last_good import or_last_good
from attnlab.ui.controls.matrix_editor import MOST_ROWS, draw_fault, edit_matrix
from attnlab.ui.lessons.encodings.encoding_controls import steps

_TITLES = {
    "inputs": "**inputs** x, a row each",
    "asking": "**inputs of the queries**",
    "w_query": ":blue[**W query**]",
    "w_key": ":red[**W key**]",
    "w_value": ":green[**W value**]",
    "b_query": ":blue[**b query**]",
    "b_key": ":red[**b key**]",
    "b_value": ":green[**b value**]",
}
_TABLES = ("inputs", "w_query", "w_key", "w_value")
_ASKING = ((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0))


class Switches(NamedTuple):
    """How the head is run."""

    bias: bool
    scaling: bool
    causal: bool
    cross: bool
    score: AbstractScore


class Bench(NamedTuple):
    """What the stages are computed from."""

    tables: dict[str, np.ndarray]
    switches: Switches

    @property
    def asking(self) -> np.ndarray:
        """The inputs that queries are made of."""
        return self.tables["asking" if self.switches.cross else "inputs"]

    @property
    def scale(self) -> float:
        """The factor on the scores."""
        name = "1/sqrt(d)" if self.switches.scaling else "none"
        return scale_factor(name, d_attn=self.tables["w_query"].shape[1], temperature=1.0)

    @property
    def head(self) -> Head:
        """The weights; without biases theirs are zeros."""
        return Head(*(self._projection(name) for name in ("query", "key", "value")))

    def _projection(self, name: str) -> Projection:
        weight = self.tables[f"w_{name}"]
        bias = self.tables.get(f"b_{name}") if self.switches.bias else None
        return Projection(weight, np.zeros_like(weight[0]) if bias is None else bias[0])


def draw_bench() -> Bench:
    """All controls; the last tables that made sense where the present ones do not."""
    example = linked(
        st.selectbox, "example", list(WORKED_EXAMPLES), key="step_example", on_change=_begin_anew
    )
    st.markdown(WORKED_EXAMPLES[example].lesson)
    switches = _draw_switches()
    found = _draw_tables(example, switches)
    tables = or_last_good(found, _defaults(example), key="step_good")
    if found is None:
        st.info(
            "The pictures below show the last valid tables.",
            icon=":material/history:",
        )
    return Bench(
        {name: np.array(rows, dtype=np.float32) for name, rows in _completed(tables).items()},
        switches,
    )


def run_bench(bench: Bench) -> Stages:
    """Every stage, from the functions that models train with."""
    queries, keys = len(bench.asking), len(bench.tables["inputs"])
    return compiled_stages(
        bench.head,
        bench.asking,
        bench.tables["inputs"],
        mask=mask_of("causal" if bench.switches.causal else "none", queries, keys),
        scale=bench.scale,
        score=bench.switches.score,
    )


def mask_of(name: str, queries: int, keys: int) -> np.ndarray:
    """The mask of that name for so many queries and keys, both counted from the first."""
    # Every new size would be compiled anew; a part of the largest mask is the mask of the part.
    days = jnp.arange(MOST_ROWS)
    return np.asarray(MASKS[name](days, days))[:queries, :keys]


def code_of(bench: Bench) -> str:
    """The few lines that compute the same from a script."""
    tables = "".join(
        f"{name} = jnp.array({bench.tables[name].tolist()})\n" for name in _used(bench.switches)
    )
    projections = "".join(
        f"    Projection(w_{name}, "
        + (f"b_{name}[0]),\n" if bench.switches.bias else f"jnp.zeros(w_{name}.shape[1])),\n")
        for name in ("query", "key", "value")
    )
    asking = "asking" if bench.switches.cross else "inputs"
    mask = "causal" if bench.switches.causal else "none"
    score = bench.switches.score
    return (
        "import jax.numpy as jnp\n\n"
        "from attnlab.attention import MASKS\n"
        "from attnlab.models.parts import Projection\n"
        f"from attnlab.attention import {type(score).__name__}\n"
        "from attnlab.lessons.stages import Head, stages\n\n"
        f"{tables}"
        f"head = Head(\n{projections})\n"
        f'mask = MASKS["{mask}"](jnp.arange(len({asking})), jnp.arange(len(inputs)))\n'
        f"found = stages(\n    head, {asking}, inputs, mask=mask, scale={bench.scale!r}, "
        f"score={score!r}\n)\n"
        "print(found.scores, found.pattern, found.output)"
    )


def _used(switches: Switches) -> tuple[str, ...]:
    biases = ("b_query", "b_key", "b_value") if switches.bias else ()
    return (*_TABLES, *(("asking",) if switches.cross else ()), *biases)


def _begin_anew() -> None:
    """Another example: its own tables, whatever was typed into those of the last one."""
    defaults = _defaults(st.session_state["step_example"])
    for name in (*_TABLES, "b_query", "b_key", "b_value"):
        if f"step_{name}" in st.session_state:
            st.session_state[f"step_{name}"] = show_matrix(defaults[name])
    st.session_state.pop("step_good", None)


def _defaults(example: str) -> dict[str, Rows]:
    return _completed(dict(zip(_TABLES, WORKED_EXAMPLES[example][:4], strict=True)))


def _completed(tables: dict[str, Rows]) -> dict[str, Rows]:
    """With biases and inputs of queries that fit, where those are missing or do not."""
    features = len(tables["inputs"][0])
    asking = tuple(row[:features] + (0.0,) * (features - len(row)) for row in _ASKING)
    parts = {"asking": asking}
    for name in ("query", "key", "value"):
        parts[f"b_{name}"] = ((1.0,) + (0.0,) * (len(tables[f"w_{name}"][0]) - 1),)
    fitting = {
        name: rows
        for name, rows in tables.items()
        if name not in parts or len(rows[0]) == len(parts[name][0])
    }
    return {**parts, **fitting}


def _draw_switches() -> Switches:
    with st.container(horizontal=True, key="step_switches", vertical_alignment="bottom"):
        name = linked(st.selectbox, "score function", list(SCORES), key="step_score", width=180)
        kind = SCORES[name]
        values = {
            option: linked(
                st.select_slider,
                label_of(option, spec),
                steps(spec.low, spec.high, default_of(kind, option)),
                default_of(kind, option),
                key=f"step_{option}",
                width=220,
            )
            for option, spec in options_of(kind).items()
        }
        scaling = linked(st.toggle, "scaling 1/√d", key="step_scaling", disabled=name != "dot")
        bias = linked(st.toggle, "biases", key="step_bias")
        cross = linked(st.toggle, "cross-attention", key="step_cross")
        causal = linked(st.toggle, "causal mask", key="step_causal", disabled=cross)
    st.caption(
        f"Score `{name}`: {kind.summary} Scaling belongs to `dot`. A causal mask asks what comes "
        "earlier, which has no meaning between two sequences, so that cross-attention has none."
    )
    return Switches(bias, scaling and name == "dot", causal and not cross, cross, kind(**values))


def _draw_tables(example: str, switches: Switches) -> dict[str, Rows] | None:
    defaults, found, places, names = _defaults(example), {}, {}, _used(switches)
    for start in range(0, len(names), 4):
        for column, name in zip(st.columns(4, gap="small"), names[start : start + 4], strict=False):
            places[name] = column.container(key=f"table_step_{name}")
            with places[name]:
                found[name] = edit_matrix(
                    name,
                    _TITLES[name],
                    defaults[name],
                    key=f"step_{name}",
                    more_rows=name in ("inputs", "asking"),
                )
    if None in found.values():
        return None
    try:
        check_shapes(found)
    except OptionError as error:
        with places[error.name]:
            draw_fault(error)
        return None
    return found
