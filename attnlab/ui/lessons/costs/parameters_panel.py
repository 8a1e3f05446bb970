"""Parameters of all families against the length, and the formulas of one."""

import functools

import streamlit as st

from attnlab.charts import cost_chart, cost_table
from attnlab.configuration.options import options_of
from attnlab.models import AbstractModelOptions, parameters_by_part
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.costs.settings import Settings


def draw_parameters(settings: Settings) -> None:
    """Beside each other: the chart of all families, and the table of the chosen one."""
    experiment = settings.experiment
    vocab, length = experiment.generator.vocabulary.size, experiment.length
    left, right = st.columns([1, 1], gap="medium")
    with left, st.container(key="chart_parameters"):
        _draw_chart(settings, vocab, length)
    with right:
        families = list(settings.families)
        name = linked(
            st.selectbox,
            "family",
            families,
            families.index(experiment.model.name),
            key="cost_family",
            width=180,
        )
        _draw_parts(settings.families[name], vocab, length)
    st.caption(
        "How to read it: a line is the number of trained numbers of a family, with both axes "
        "logarithmic; dashed is the length of Train. Parts are called as the fields of the model, "
        "those of all layers together."
    )


def _draw_chart(settings: Settings, vocab: int, today: int) -> None:
    spec = options_of(Experiment)["length"]
    lengths = tuple(2**power for power in range(1, 17) if spec.low <= 2**power <= spec.high)
    rows = [
        (name, length, count, count, count)
        for name, options in settings.families.items()
        for length in lengths
        for count in [_count(options, vocab, length)]
    ]
    draw_chart(
        cost_chart(
            cost_table(rows),
            series=tuple(settings.families),
            lengths=lengths,
            y_title="parameters",
            ranges=False,
            today=today,
            dark=on_dark(),
            height=420,
        ),
        name="Parameters",
        alt="Parameters against length: "
        + "; ".join(
            f"{name} {_count(options, vocab, lengths[0]):,} at {lengths[0]} and "
            f"{_count(options, vocab, lengths[-1]):,} at {lengths[-1]}"
            for name, options in settings.families.items()
        )
        + ".",
    )


# A page is drawn again and again with the same options.
@functools.lru_cache(512)
def _count(options: AbstractModelOptions, vocab: int, length: int) -> int:
    return sum(part.count for part in parameters_by_part(options, vocab=vocab, length=length))


def _draw_parts(options: AbstractModelOptions, vocab: int, length: int) -> None:
    parts = parameters_by_part(options, vocab=vocab, length=length)
    # Lines break where a table would be cut.
    lines = [
        f"- `{part}`: {formula} = **{count:,}**" if formula else f"- `{part}`: **{count:,}**"
        for part, count, formula in parts
    ]
    with st.container(key="cost_parts"):
        st.markdown("\n".join(lines))
        total = sum(part.count for part in parts)
        st.markdown(f"**{total:,}** parameters in all at length {length}.")
