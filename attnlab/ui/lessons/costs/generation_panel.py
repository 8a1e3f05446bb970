"""Generation with and without a cache of keys and values."""

import dataclasses
from functools import partial

import streamlit as st

from attnlab.configuration.options import OptionError, options_of
from attnlab.lessons.costs import (
    CACHED,
    NEW_TOKENS,
    RECOMPUTED,
    CostProgress,
    lengths_to,
    measure_generation,
    over_rounds,
)
from attnlab.models import TransformerOptions
from attnlab.training.limits import check_limits
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.hosting import hosted, limits
from attnlab.ui.core.outside import draw_error
from attnlab.ui.lessons.costs.measured_panel import Quantity, draw_buttons, draw_measured, rate_of
from attnlab.ui.lessons.costs.ratios import in_words
from attnlab.ui.lessons.costs.settings import Settings

_WORK = "generation_cost"
_BYTES = 4


def draw_generation(settings: Settings) -> None:
    """Controls, the chart of tokens a second, and what the cache takes."""
    options = _transformer(settings)
    vocab = settings.experiment.generator.vocabulary.size
    most = limits().caps.get("layers", options_of(TransformerOptions)["layers"].high)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        layers = linked(
            st.slider, "layers", 1, most, options.layers, 1, key="cost_layers", width=180
        )
        lengths = ["128", "256"] if hosted() else ["128", "256", "512", "1024"]
        longest = linked(
            st.select_slider, "longest sequence", lengths, lengths[-1 if hosted() else 2],
            key="cost_generated", width=200,
        )  # fmt: skip
        options = dataclasses.replace(options, layers=layers)
        plan = (options, longest, vocab)
        make = partial(measure_generation, options, lengths_to(int(longest)), vocab=vocab)
        draw_buttons(_WORK, plan, make)
    st.caption(
        f"The transformer of Train's controls with the mask causal, untrained, here with {layers} "
        f"layer{'s' if layers > 1 else ''}: heads {options.heads}, d_attn {options.d_attn}, "
        f"d_model {options.d_model}, position {options.position.name}."
    )
    draw_measured(
        _WORK,
        plan,
        (Quantity("Tokens a second", "tokens a second", rate_of),),
        _sentences,
        invitation=f"Press **Measure**: the last {NEW_TOKENS} tokens of sequences of 64, 128, … "
        "up to the longest, each found by reading all positions anew, and with a cache.",
    )


def _transformer(settings: Settings) -> TransformerOptions:
    options = settings.families[TransformerOptions.name]
    options = dataclasses.replace(options, mask="causal")
    try:
        check_limits(dataclasses.replace(settings.experiment, model=options), limits())
    except OptionError as error:
        draw_error(f"{error} The transformer's defaults are taken.")
        options = TransformerOptions()
    return options


def _sentences(progress: CostProgress, plan: tuple[TransformerOptions, str, int]) -> str:
    options, *_ = plan
    longest = max(m.length for m in progress.measured)
    found = {m.way: m.seconds for m in progress.measured if m.length == longest}
    times = over_rounds(found[RECOMPUTED] / found[CACHED])
    numbers = options.layers * options.heads * longest * (options.d_attn + options.width_of_values)
    return (
        f"At {longest:,}, the cache makes tokens **{in_words(times)}** times as quickly. It holds "
        f"layers × heads × length × (d_attn + d_value) = {numbers:,} numbers of {_BYTES} bytes, "
        f"**{numbers * _BYTES / 1e6:,.2f} MB**. Logits differ by at most "
        f"{progress.difference:.0e}."
    )
