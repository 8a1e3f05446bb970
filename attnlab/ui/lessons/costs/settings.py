"""The settings that stand on Train, of every family."""

from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.models import MODELS, AbstractModelOptions
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form_state import read_form, read_part
from attnlab.ui.core.outside import draw_error


class Settings(NamedTuple):
    """The experiment of the controls, and the options of every family by its name.

    `refused` are the families whose controls hold what cannot be; they have their defaults.
    """

    experiment: Experiment
    families: dict[str, AbstractModelOptions]
    refused: tuple[str, ...]


def read_settings() -> Settings:
    """Those of the controls; defaults in the place of what is refused, which is said."""
    experiment = read_form()
    if isinstance(experiment, OptionError):
        draw_error(f"{experiment} Until that is put right on Train, defaults are shown.")
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


def draw_settings(settings: Settings) -> None:
    """Where the numbers come from."""
    experiment = settings.experiment
    st.caption(
        f"Settings are those of Train: process {experiment.generator.name}, vocabulary of "
        f"{experiment.generator.vocabulary.size}, length {experiment.length}; each family has the "
        "options that its controls have there."
        + (
            f" Not possible, and so by default: {', '.join(settings.refused)}."
            if settings.refused
            else ""
        )
    )
