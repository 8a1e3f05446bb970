"""The settings that stand on Train, of every family."""

from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.models import MODELS, AbstractModelOptions
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.form_state import read_form, read_part
from attnlab.ui.core.outside import draw_error


class Settings(NamedTuple):
    """The experiment of the controls, and the options of every family by its name."""

    experiment: Experiment
    families: dict[str, AbstractModelOptions]


def read_settings() -> Settings:
    """Those of the controls; defaults in the place of what is refused, which is said."""
    experiment = read_form()
    if isinstance(experiment, OptionError):
        draw_error(f"{experiment} Until that is put right on Train, defaults are shown.")
        experiment = Experiment()
    families = {}
    for name, kind in MODELS.items():
        try:
            families[name] = read_part(kind)
        except OptionError:
            # Said above where the family is chosen; others may wait until they are.
            families[name] = kind()
    families[experiment.model.name] = experiment.model
    return Settings(experiment, families)


def draw_settings(settings: Settings) -> None:
    """Where the numbers come from."""
    experiment = settings.experiment
    st.caption(
        f"Settings are those of Train: process {experiment.generator.name}, vocabulary of "
        f"{experiment.generator.vocabulary.size}, length {experiment.length}; each family has the "
        "options that its controls have there."
    )
