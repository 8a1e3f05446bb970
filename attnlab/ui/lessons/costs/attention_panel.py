"""Attention in one piece and in chunks: controls, and what measuring it comes to."""

from functools import partial

import streamlit as st

from attnlab.lessons.costs import (
    CHUNKED,
    FORWARD,
    PASSES,
    PLAIN,
    CostProgress,
    Measured,
    lengths_to,
    measure_attention,
    over_rounds,
)
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.hosting import hosted, limits
from attnlab.ui.lessons.costs.measured_panel import (
    Quantity,
    draw_buttons,
    draw_measured,
    megabytes_of,
    milliseconds_of,
)
from attnlab.ui.lessons.costs.ratios import in_words, longest_pair

_WORK = "attention_cost"
_WIDTHS = (8, 16, 32, 64, 128)


def draw_attention() -> None:
    """Controls, charts of time and memory, and what doubling the length costs."""
    most = limits().caps.get("d_attn", max(_WIDTHS))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        d_attn = linked(
            st.select_slider, "d_attn", [str(width) for width in _WIDTHS if width <= most], "32",
            key="cost_d_attn", width=180,
        )  # fmt: skip
        # The scores of the longest take a quarter of a gigabyte, and its gradient twice that.
        lengths = ["1024", "2048"] if hosted() else ["1024", "2048", "4096", "8192"]
        longest = linked(
            st.select_slider, "longest sequence", lengths, lengths[-1 if hosted() else 2],
            key="cost_longest", width=200,
        )  # fmt: skip
        passes = linked(
            st.segmented_control, "pass", PASSES, default=FORWARD, required=True,
            key="cost_passes",
        )  # fmt: skip
        plan = (d_attn, longest, passes)
        make = partial(
            measure_attention, lengths_to(int(longest)), d_attn=int(d_attn), passes=passes
        )
        draw_buttons(_WORK, plan, make)
    draw_measured(
        _WORK,
        plan,
        (
            Quantity("Time of attention", "time of a call (ms)", milliseconds_of),
            Quantity("Memory of attention", "scratch memory (MB)", megabytes_of, ranges=False),
        ),
        _sentences,
        invitation="Press **Measure**: one head with a causal mask, its scores made all at once "
        "and in chunks, at lengths 64, 128, … up to the longest.",
    )
    st.caption(
        "How to read it: points are medians of five rounds, bars reach from the least to the "
        "most. Memory is what the compiled program takes beside queries, keys, values and "
        "results, by the compiler's own account, which has no error. A run that trains meanwhile "
        "makes the times longer."
    )


def _sentences(progress: CostProgress, _plan: object) -> str:
    told = []
    pair = longest_pair(progress)
    if pair is not None:
        for way in (PLAIN, CHUNKED):
            half, full = (_found(progress, way, length) for length in pair)
            memory = f"{full.scratch / half.scratch:.2g}" if half.scratch else "no"
            told.append(
                f"From {pair[0]:,} to {pair[1]:,}, **{way}** takes "
                f"**{in_words(over_rounds(full.seconds / half.seconds))}** times as long and "
                f"**{memory}** times the memory."
            )
    longest = max(m.length for m in progress.measured)
    plain, chunked = (_found(progress, way, longest) for way in (PLAIN, CHUNKED))
    told.append(
        f"At {longest:,}, chunked attention takes "
        f"**{in_words(over_rounds(chunked.seconds / plain.seconds))}** times as long as plain "
        f"and **1/{plain.scratch / chunked.scratch:,.0f}** of its memory. Results differ by at "
        f"most {progress.difference:.0e}, the rounding of 32-bit numbers."
    )
    return " ".join(told)


def _found(progress: CostProgress, way: str, length: int) -> Measured:
    return next(m for m in progress.measured if (m.way, m.length) == (way, length))
