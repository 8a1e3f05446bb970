"""What attention costs: parameters of all families, time and memory, and generation by length."""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnlab.charts import HUES, INK, Scale, Series, distinct, lines_chart
from attnlab.configuration.options import OptionError, options_of
from attnlab.lessons import costs
from attnlab.lessons.costs import (
    CACHED,
    CHUNKED,
    LAYERS,
    PLAIN,
    RECOMPUTED,
    Cost,
    CostProgress,
    lengths_to,
    measure_attention,
    measure_generation,
    over_rounds,
)
from attnlab.live.jobs import JobState
from attnlab.models import MODELS, AbstractModelOptions, TransformerOptions, parameters_by_part
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.controls.form_state import read_form, read_part
from attnlab.ui.core.example_run import example_until_first
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, draw_source, start_job
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import hosted, limits
from attnlab.ui.lessons.kit import choose, control_row, in_columns, share_done

_ATTENTION, _GENERATION = "attention_cost", "generation_cost"
_WIDTHS = (8, 16, 32, 64, 128)
_BYTES = 4
# In no colour, since colours on this page are families.
_SERIES = {
    way: Series(way, colour, shape)
    for ways in ((PLAIN, CHUNKED), (RECOMPUTED, CACHED))
    for way, colour, shape in zip(ways, (HUES.training, INK), ("circle", "square"), strict=True)
}
_RANGE = (("low", "minimum", ",.3~g"), ("high", "maximum", ",.3~g"))


class Settings(NamedTuple):
    """The experiment of the form, and the options of every model family by name.

    `refused` are the families with invalid controls, which have default options here.
    """

    experiment: Experiment
    families: dict[str, AbstractModelOptions]
    refused: tuple[str, ...]


def read_settings() -> Settings:
    """Return the settings of the form; where they are invalid, show an error and use defaults."""
    experiment = read_form()
    if isinstance(experiment, OptionError):
        draw_error(f"{experiment} Until you correct it on Train, defaults are shown.")
        experiment = Experiment()
    families, refused = {}, []
    for name, kind in MODELS.items():
        try:
            families[name] = read_part(kind)
        except OptionError:
            families[name] = kind()
            refused.append(name)
    families[experiment.model.name] = experiment.model
    return Settings(experiment, families, tuple(refused))


def _length_axis(lengths: Iterable[int]) -> Scale:
    return Scale("length of the sequence", ",d", labels=",d", kind="log", ticks=tuple(lengths))


@functools.lru_cache(512)
def _count(options: AbstractModelOptions, vocab: int, length: int) -> int:
    return sum(part.count for part in parameters_by_part(options, vocab=vocab, length=length))


def draw_parameters(settings: Settings) -> None:
    """Draw the parameters of all families by length, and of one family by part."""
    experiment, families = settings.experiment, settings.families
    vocab, length = experiment.generator.vocabulary.size, experiment.length
    refused = ", ".join(settings.refused)
    st.caption(
        f"Settings come from Train: process {experiment.generator.name}, vocabulary of {vocab}, "
        f"length {length}. Each model family uses the options set there."
        + (f" Defaults are used for {refused}, whose settings are invalid." if refused else "")
    )
    left, right = st.columns(2, gap="medium")
    spec = options_of(Experiment)["length"]
    lengths = tuple(2**power for power in range(1, 17) if spec.low <= 2**power <= spec.high)
    rows, ends = [], []
    for name, options in families.items():
        counts = [_count(options, vocab, each) for each in lengths]
        rows += [(name, *at, at[1], at[1]) for at in zip(lengths, counts, strict=True)]
        ends.append(f"{name} {counts[0]:,} at {lengths[0]} and {counts[-1]:,} at {lengths[-1]}")
    with left:
        draw_chart(
            lines_chart(
                pd.DataFrame(rows, columns=["series", "at", "value", "low", "high"]),
                None,
                pd.DataFrame({"at": [length], "name": ""}),
                x=_length_axis(lengths),
                y=Scale("parameters", ",.3~g", labels=",~g", kind="log"),
                series=distinct(families),
                noun=" ",
                tips=(),
                height=420,
            ),
            name="Parameters",
            alt=f"Parameters against length: {'; '.join(ends)}.",
        )
    with right:
        names = list(families)
        chosen = names.index(experiment.model.name)
        name = linked(st.selectbox, "model family", names, chosen, key="cost_family", width=180)
        # A list, since its lines wrap; a table would be cut off.
        lines = [
            f"- `{part}`: {f'{formula} = ' if formula else ''}**{count:,}**"
            for part, count, formula in parameters_by_part(
                families[name], vocab=vocab, length=length
            )
        ]
        with st.container(key="cost_parts"):
            st.markdown("\n".join(lines))
            total = _count(families[name], vocab, length)
            st.markdown(f"**{total:,}** parameters in all at length {length}.")
    st.caption(
        "Each line is a model family; both axes are logarithmic. The dashed line is the length set "
        "on Train. Parts are named as in the code and summed over layers."
    )


class Quantity(NamedTuple):
    """A quantity to draw; `of` returns its values in all rounds from a measurement."""

    name: str
    y_title: str
    of: Callable[[Cost], np.ndarray]


_TIME = Quantity("Time of attention", "time of a call (ms)", lambda one: 1_000 * one.seconds)
# The compiler reports one exact number.
_MEMORY = Quantity(
    "Memory of attention", "scratch memory (MB)", lambda one: np.array([one.scratch / 1e6])
)
_RATE = Quantity("Speed of generation", "tokens a second", lambda one: 1 / one.seconds)


def draw_attention(text: DeltaGenerator, picture: DeltaGenerator) -> None:
    """Draw controls in `text`; in `picture`, time and memory by length, and how they grow."""
    most = limits().caps.get("d_attn", max(_WIDTHS))
    widths = [str(width) for width in _WIDTHS if width <= most]
    # At the longest length the scores take 0.25 GB, and their gradient twice as much.
    lengths = ["1024", "2048"] if hosted() else ["1024", "2048", "4096", "8192"]
    with text:
        left, right = st.columns(2)
        d_attn = linked(left.select_slider, "d_attn", widths, "32", key="cost_d_attn")
        longest = _draw_longest(right, lengths, "cost_longest")
        passes = choose("pass", costs.PASSES, key="cost_passes")
        plan = (d_attn, longest, passes)
        measure = partial(
            measure_attention, lengths_to(int(longest)), d_attn=int(d_attn), passes=passes
        )
    with text, control_row():
        draw_job_buttons(_ATTENTION, "Measure", partial(start_job, _ATTENTION, measure, of=plan))
    _draw_measured(
        _ATTENTION,
        plan,
        (_TIME, _MEMORY),
        _attention_in_words,
        (text, picture),
        of_example=lambda of: f"d_attn {of[0]}, {of[2]}, lengths up to {int(of[1]):,}",
        invitation="Press **Measure** to time one causal head here, usually in under a minute.",
    )
    picture.caption(
        "Points are medians of five rounds, bars their range. Memory is what the program needs "
        "besides queries, keys, values and results, as the compiler reports it.",
        help="Times are longer while a run trains. The pass `forward and gradient` includes the "
        "backward pass: plain attention keeps its patterns for it, and chunked attention computes "
        "each chunk again. The transformer's option `attention` selects plain or chunked.",
    )


def draw_generation(settings: Settings, text: DeltaGenerator, picture: DeltaGenerator) -> None:
    """Draw controls in `text`; in `picture`, tokens per second by length, and the cache's size."""
    chosen = cast(TransformerOptions, settings.families[TransformerOptions.name])
    options = dataclasses.replace(chosen, mask="causal")
    try:
        check_limits(dataclasses.replace(settings.experiment, model=options), limits())
    except OptionError as error:
        draw_error(f"{error} The transformer's defaults are used.")
        options = TransformerOptions()
    vocab = settings.experiment.generator.vocabulary.size
    most = limits().caps.get("layers", options_of(TransformerOptions)["layers"].high)
    lengths = ["128", "256"] if hosted() else ["128", "256", "512", "1024"]
    with text:
        left, right = st.columns(2)
        # A single layer cannot show what the cache saves.
        layers = options.layers if options.layers > 1 else LAYERS
        bounds = 1, most, layers, 1
        layers = linked(left.slider, "layers", *bounds, key="cost_layers")
        longest = _draw_longest(right, lengths, "cost_generated")
    options = dataclasses.replace(options, layers=layers)
    plan = (options, longest, vocab)
    measure = partial(measure_generation, options, lengths_to(int(longest)), vocab=vocab)
    with text, control_row():
        draw_job_buttons(_GENERATION, "Measure", partial(start_job, _GENERATION, measure, of=plan))
    text.caption(
        f"An untrained causal transformer of {_in_words(options)}. All but its layers are set on "
        "Train."
    )
    _draw_measured(
        _GENERATION,
        plan,
        (_RATE,),
        _generation_in_words,
        (text, picture),
        of_example=lambda of: f"{_in_words(of[0])}, lengths up to {int(of[1]):,}",
        invitation=f"Press **Measure** to time the last {costs.NEW_TOKENS} tokens of the "
        "transformer above, usually in under a minute.",
    )


def _in_words(options: TransformerOptions) -> str:
    layers = f"{options.layers} layer{'s' if options.layers > 1 else ''}"
    return (
        f"{layers}, heads {options.heads}, d_attn {options.d_attn}, d_model {options.d_model}, "
        f"position {options.position.name}"
    )


def _draw_longest(place: DeltaGenerator, lengths: list[str], key: str) -> str:
    default = lengths[-1 if hosted() else 2]
    return linked(place.select_slider, "longest sequence", lengths, default, key=key)


def _draw_measured(
    name: str,
    plan: object,
    quantities: tuple[Quantity, ...],
    in_words: Callable[[CostProgress, Any], list[str]],
    places: tuple[DeltaGenerator, DeltaGenerator],
    **words: Any,
) -> None:
    """Draw the latest measurement or the example.

    `places` are those of its source and of the result, and `words` those of `draw_source`.
    """
    with places[0]:
        source = draw_source(name, plan, "Measure", **words)
    if source is None:
        return
    plan = source.of

    def draw(state: JobState) -> None:
        progress, of = state.latest, plan
        if progress is None or not progress.measured:
            if (example := example_until_first(name, state)) is None:
                return
            progress, of = example.result, example.of
        first, *more = in_words(progress, of)
        with st.container(key=f"{name}_sentences"):
            st.markdown(f"**{first}**")
        for quantity in in_columns(quantities):
            st.markdown(f"**{quantity.name}**")
            _draw_quantity(quantity, progress)
        same = f"Both ways give the same results, up to rounding ({progress.difference:.0e})."
        st.markdown("\n".join(f"- {each}" for each in [*more, same]))

    with places[1]:
        draw_job(name, draw, failed="Measuring", progress=share_done, source=source)


def _draw_quantity(quantity: Quantity, progress: CostProgress) -> None:
    rows = [(m.way, m.length, *over_rounds(quantity.of(m))) for m in progress.measured]
    ways, lengths = dict.fromkeys(way for way, *_ in rows), sorted({row[1] for row in rows})
    alt = f"{quantity.y_title} against length, for {' and '.join(ways)}."
    if progress.share == 1:
        # Only at the end, since a changed text redraws the chart.
        ends = (f"{way} {value:.3g}" for way, at, value, *_ in rows if at == lengths[-1])
        alt += f" At {lengths[-1]:,}: {', '.join(ends)}."
    chart = lines_chart(
        pd.DataFrame(rows, columns=["series", "at", "value", "low", "high"]),
        x=_length_axis(lengths if len(lengths) > 1 else (lengths[0], 2 * lengths[0])),
        y=Scale(quantity.y_title, ",.3~g", labels=",~g", kind="log"),
        series=tuple(_SERIES[way] for way in ways),
        noun=" ",
        tips=_RANGE,
        height=340,
    )
    draw_chart(chart, name=quantity.name, alt=alt)


def _attention_in_words(progress: CostProgress, _plan: object) -> list[str]:
    found = {(one.way, one.length): one for one in progress.measured}
    *shorter, longest = sorted({length for _, length in found})
    plain, chunked = found[PLAIN, longest], found[CHUNKED, longest]
    said = [
        f"At {longest:,} tokens, chunked attention needs "
        f"{float(f'{plain.scratch / chunked.scratch:.2g}'):,.0f} times less memory and takes "
        f"{_ratio(chunked.seconds / plain.seconds)} times as long."
    ]
    for way in (PLAIN, CHUNKED) if shorter else ():
        half, full = found[way, shorter[-1]], found[way, longest]
        memory = f"{full.scratch / half.scratch:.2g}" if half.scratch else "no"
        said.append(
            f"From {shorter[-1]:,} to {longest:,}, **{way}** takes "
            f"{_ratio(full.seconds / half.seconds)} times as long and {memory} times the memory."
        )
        each = full.seconds / half.seconds / (longest / shorter[-1]) ** 2
        # In all rounds, since a single one may be slow by chance.
        if way == PLAIN and each.min() > 1:
            stored, less = (f"{one.scratch / 1e6:.2g} MB" for one in (full, half))
            said.append(
                f"Its scores are 4 times as many, and each takes {np.median(each):.2g} times as "
                f"long: probably, {stored} of scores are slower to store than {less}."
            )
    return said


def _generation_in_words(
    progress: CostProgress, plan: tuple[TransformerOptions, str, int]
) -> list[str]:
    options, *_ = plan
    longest = max(one.length for one in progress.measured)
    found = {one.way: one.seconds for one in progress.measured if one.length == longest}
    numbers = options.layers * options.heads * longest * (options.d_attn + options.width_of_values)
    return [
        f"At {longest:,} tokens, generation with the cache is "
        f"{_ratio(found[RECOMPUTED] / found[CACHED])} times as fast.",
        f"The cache takes **{numbers * _BYTES / 1e6:,.2f} MB**: layers × heads × length × "
        f"(d_attn + d_value) = {numbers:,} numbers of {_BYTES} bytes.",
    ]


def _ratio(rounds: np.ndarray) -> str:
    """Return median, minimum and maximum over rounds as text, with two significant digits."""
    middle, least, most = (f"{float(f'{value:.2g}'):,g}" for value in over_rounds(rounds))
    return f"{middle} ({least} to {most})"
