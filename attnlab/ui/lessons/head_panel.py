"""One attention head with editable weights and inputs, and what shuffled inputs do to it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.attention import MASKS, SCORES, AbstractScore, scale_factor
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
from attnlab.ui.core.outside import draw_error
from attnlab.ui.lessons.kit import draw_options

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


class Bench(NamedTuple):
    """A head to edit: its tables of numbers by name, its score function and its switches."""

    tables: Mapping[str, np.ndarray]
    score: AbstractScore
    scaling: bool
    bias: bool
    cross: bool
    causal: bool

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
        return Head(
            *(
                Projection(self.tables[f"w_{name}"], use * self.tables[f"b_{name}"][0])
                for name in Head._fields
            )
        )

    def stages(self) -> Stages:
        """Compute all stages of the head, with the same functions as in training."""
        asking, asked = self.asking, self.tables["inputs"]
        mask = np.asarray(MASKS[self.mask](jnp.arange(len(asking)), jnp.arange(len(asked))))
        return compiled_stages(
            self.head, asking, asked, mask=mask, scale=self.scale, score=self.score
        )


def draw_bench() -> Bench:
    """Draw all controls; return the bench, with the last valid tables if the new ones are not."""
    example = linked(
        st.selectbox, "example", list(WORKED_EXAMPLES), key="step_example", on_change=_reset_tables
    )
    st.markdown(WORKED_EXAMPLES[example].lesson)
    bench = _draw_switches()
    found = _draw_tables(example, _names_of(bench))
    tables = or_last_good(found, _defaults(example), key="step_good")
    if found is None:
        st.info("The charts below show the last valid tables.", icon=":material/history:")
    numbers = {name: np.array(rows, dtype=np.float32) for name, rows in _completed(tables).items()}
    return bench._replace(tables=numbers)


def _names_of(bench: Bench) -> tuple[str, ...]:
    """Return the names of the tables that a head with these switches uses."""
    return (*_TABLES, *(("asking",) if bench.cross else ()), *(_BIASES if bench.bias else ()))


def _reset_tables() -> None:
    """Set all tables to the numbers of the chosen example."""
    defaults = _defaults(st.session_state["step_example"])
    for name in (*_TABLES, *_BIASES):
        if f"step_{name}" in st.session_state:
            st.session_state[f"step_{name}"] = show_matrix(defaults[name])
    st.session_state.pop("step_good", None)


def _defaults(example: str) -> dict[str, Rows]:
    return _completed(dict(zip(_TABLES, WORKED_EXAMPLES[example][:4], strict=True)))


def _completed(tables: dict[str, Rows]) -> dict[str, Rows]:
    """Add default inputs of queries and biases where they are missing."""
    features = len(tables["inputs"][0])
    parts = {"asking": tuple((*row, *(0.0,) * features)[:features] for row in _ASKING)}
    for bias in _BIASES:
        width = len(tables[bias.replace("b_", "w_")][0])
        parts[bias] = ((1.0, *(0.0,) * (width - 1)),)
    return parts | tables


def _draw_switches() -> Bench:
    """Draw the switches; return a bench that still has no tables."""
    with st.container(horizontal=True, key="step_switches", vertical_alignment="bottom"):
        name = linked(st.selectbox, "score function", list(SCORES), key="step_score", width=180)
        score = draw_options(SCORES[name], "step", width=220)
        scaling = linked(st.toggle, "scaling 1/√d", key="step_scaling", disabled=name != "dot")
        bias = linked(st.toggle, "biases", key="step_bias")
        cross = linked(st.toggle, "cross-attention", key="step_cross")
        causal = linked(st.toggle, "causal mask", key="step_causal", disabled=cross)
    st.caption(
        f"Score `{name}`: {score.summary} Scaling applies to `dot` only. Cross-attention has no "
        f"causal "
        "mask: there is no “earlier” between two sequences."
    )
    return Bench({}, score, scaling and name == "dot", bias, cross, causal and not cross)


def _draw_tables(example: str, names: Sequence[str]) -> dict[str, Rows] | None:
    defaults, found, places = _defaults(example), {}, {}
    columns: list[Any] = []
    for name in names:
        columns = columns or list(st.columns(4, gap="small"))
        places[name] = columns.pop(0).container(key=f"table_step_{name}")
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
            draw_error(str(error))
        return None
    return found


def code_of(bench: Bench) -> str:
    """Return a Python script that computes the same stages."""
    tables = "".join(
        f"{name} = jnp.array({bench.tables[name].tolist()})\n" for name in _names_of(bench)
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
    order = _shuffle(length, seed)
    new, old = (" ".join(str(at + 1) for at in each) for each in (order, range(length)))
    st.markdown(f"The inputs are in the order **{new}** instead of {old}.")
    positions = encoding_rows(Sinusoidal(), length=length, width=features).astype(np.float32)
    lines = ["| head | largest difference | equal outputs |", "|---|---|---|"]
    for name, added, causal in (
        ("no positions, no mask", 0 * positions, False),
        ("sinusoidal positions added", positions, False),
        ("causal mask, no positions", 0 * positions, True),
    ):
        self_attention = bench._replace(cross=False, causal=causal)
        before, after = (
            self_attention._replace(tables={**bench.tables, "inputs": each + added}).stages().output
            for each in (inputs, inputs[order])
        )
        apart = np.abs(after - before[order]).max(axis=1)
        largest = f"{apart.max():.1e}" if apart.max() < 1e-3 else f"{apart.max():.3f}"
        lines.append(f"| {name} | {largest} | {(apart < _SAME).sum()} of {length} |")
    with st.container(key="step_sets"):
        st.markdown("\n".join(lines))
    st.caption(
        "How to read it: the outputs for the shuffled inputs are compared with the shuffled "
        "outputs. Without "
        "positions or a mask, outputs are permuted like the inputs, and the difference is "
        "rounding.",
        help="With a causal mask an output depends on its input and on the set of earlier inputs. "
        "It is unchanged where the shuffle leaves this set as it was. Equal inputs also leave "
        "outputs unchanged.",
    )


def _shuffle(length: int, seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).permutation(length)
    # Avoid the identity, which would show nothing.
    return np.roll(order, 1) if np.array_equal(order, np.arange(length)) else order
