"""The number of parameters of every model family, by sequence length and by part."""

import functools
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd
import streamlit as st

from attnlab.charts import Scale, distinct, lines_chart
from attnlab.configuration.options import OptionError, options_of
from attnlab.models import MODELS, AbstractModelOptions, parameters_by_part
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.controls.form_state import read_form, read_part
from attnlab.ui.core.outside import draw_error
from attnlab.ui.lessons.kit import draw_figure


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


def of_length(lengths: Iterable[int]) -> Scale:
    """Return a logarithmic axis with these lengths."""
    return Scale("length of the sequence", ",d", labels=",d", kind="log", ticks=tuple(lengths))


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
    counts = {
        (name, each): _count(options, vocab, each)
        for name, options in families.items()
        for each in lengths
    }
    ends = (
        f"{name} {counts[name, lengths[0]]:,} at {lengths[0]} and "
        f"{counts[name, lengths[-1]]:,} at {lengths[-1]}"
        for name in families
    )
    draw_figure(
        left,
        "parameters",
        lines_chart,
        pd.DataFrame(
            [(*at, count, count, count) for at, count in counts.items()],
            columns=["series", "at", "value", "low", "high"],
        ),
        None,
        pd.DataFrame({"at": [length], "name": ""}),
        name="Parameters",
        alt=f"Parameters against length: {'; '.join(ends)}.",
        x=of_length(lengths),
        y=Scale("parameters", ",.3~g", labels=",~g", kind="log"),
        series=distinct(families),
        noun=" ",
        tips=(),
        height=420,
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


@functools.lru_cache(512)
def _count(options: AbstractModelOptions, vocab: int, length: int) -> int:
    return sum(part.count for part in parameters_by_part(options, vocab=vocab, length=length))
