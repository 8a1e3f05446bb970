"""Sets, not sequences: what a shuffle of the inputs does to the outputs."""

import numpy as np
import streamlit as st

from attnlab.lessons.geometry import encoding_rows
from attnlab.lessons.stages import compiled_stages
from attnlab.positions import Sinusoidal
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.lessons.head.head_controls import Bench, mask_of

# Rounding of 32-bit numbers, next to outputs of size 1 to 10.
_SAME = 1e-4


def draw_sets(bench: Bench) -> None:
    """A shuffle, and three kinds of head that take it differently."""
    inputs = bench.tables["inputs"]
    length, features = inputs.shape
    seed = linked(st.number_input, "shuffle number", 1, 1000, 1, key="step_shuffle", width=180)
    order = _shuffle(length, seed)
    st.markdown(
        "The inputs in the order **"
        + " ".join(str(at + 1) for at in order)
        + "** instead of "
        + " ".join(str(at + 1) for at in range(length))
        + "."
    )
    positions = encoding_rows(Sinusoidal(), length=length, width=features).astype(np.float32)
    lines = ["| head | largest difference | outputs that stay |", "|---|---|---|"]
    for name, added, mask in (
        ("no positions, no mask", 0 * positions, "none"),
        ("sinusoidal positions added", positions, "none"),
        ("causal mask, no positions", 0 * positions, "causal"),
    ):
        before = _outputs(bench, inputs + added, mask)[order]
        after = _outputs(bench, inputs[order] + added, mask)
        apart = np.abs(after - before).max(axis=1)
        largest = _said(float(apart.max()))
        lines.append(f"| {name} | {largest} | {(apart < _SAME).sum()} of {length} |")
    with st.container(key="step_sets"):
        st.markdown("\n".join(lines))
    st.caption(
        "How to read it: outputs of the shuffled inputs, less the shuffled outputs. Without "
        "positions the head sees a set: the outputs are permuted exactly as the inputs are, "
        "and the difference is rounding. With positions it does not. With a causal mask an "
        "output depends on its input and on the set of those before it: it stays where that "
        "set is the same as before the shuffle, as at the input that stays last; the order "
        "within the past does not matter. (Outputs also stay where inputs are alike.)"
    )


def _shuffle(length: int, seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).permutation(length)
    # A shuffle that changes nothing would show nothing.
    return np.roll(order, 1) if np.array_equal(order, np.arange(length)) else order


def _outputs(bench: Bench, inputs: np.ndarray, mask: str) -> np.ndarray:
    return compiled_stages(
        bench.head,
        inputs,
        inputs,
        mask=mask_of(mask, len(inputs), len(inputs)),
        scale=bench.scale,
        score=bench.switches.score,
    ).output


def _said(difference: float) -> str:
    return f"{difference:.1e}" if difference < 1e-3 else f"{difference:.3f}"
