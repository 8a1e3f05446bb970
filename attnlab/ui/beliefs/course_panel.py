"""R² of probes over training on the Beliefs page, beside what needs no model."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Scale, distinct, level_table, lines_chart, series_table
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import OptionError
from attnlab.inspection.belief_probes import (
    BEST,
    LAST_TOKEN,
    NEXT_TOKEN,
    ProbeSetup,
    SiteProbe,
    check_can_probe,
    probe_sites,
)
from attnlab.inspection.probes import Score
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.train.course import course_of, missing_models, some_of, without_gaps

TARGET = "belief_target"
_COURSE = "belief_course"
_CHART_HEIGHT = 300
# R² from which one thing counts as nearly an affine function of another.
_DETERMINED = 0.99


def show_score(score: Score) -> str:
    """Return R² with the half-width of its interval."""
    if np.isnan(score.r2):
        return "not defined"
    return show_measured(score.r2, (score.high - score.low) / 2)


def chosen_target() -> str:
    """Return what the probes of the page are for, a name of `TARGETS`."""
    return st.session_state.get(TARGET, "belief")


def can_probe(experiment: Experiment, target: str) -> bool:
    """Return whether the experiment's model can be probed for the target."""
    try:
        check_can_probe(experiment, target)
    except OptionError:
        return False
    return True


def _course_of(experiment: Experiment) -> dict[int, dict[str, float]]:
    """Return R² by step and site, for the models of this experiment that were probed."""
    return course_of(_COURSE, (experiment, chosen_target()))


def note_scores(experiment: Experiment, step: int, sites: Sequence[SiteProbe]) -> None:
    """Keep R² of every site at a step, for the chart."""
    scores = {each.site: float(each.trained.score.r2) for each in sites}
    _course_of(experiment)[step] = scores


def missing(snapshot: Snapshot) -> list[tuple[int, AbstractModel]]:
    """Return the checkpoints that are not probed yet; none while the run trains."""
    if not can_probe(snapshot.experiment, chosen_target()):
        return []
    return missing_models(_course_of(snapshot.experiment), snapshot)


def add_missing(snapshot: Snapshot, setup: ProbeSetup) -> None:
    """Probe some of the checkpoints that are not probed yet."""
    for step, model in some_of(missing(snapshot)):
        note_scores(snapshot.experiment, step, probe_sites(setup, model))


def draw_course(snapshot: Snapshot, names: Mapping[str, str], setup: ProbeSetup) -> None:
    """Draw R² at every site over the steps that were probed."""
    experiment = snapshot.experiment
    course = without_gaps(_course_of(experiment), missing(snapshot))
    steps = [step for step, _ in course]
    table = pd.concat(
        [
            series_table(name, steps, [scores[site] for _, scores in course])
            for site, name in names.items()
        ]
    )
    # The best readout of hidden states, where it is known, says more than the prediction.
    above = BEST if BEST in setup.controls else NEXT_TOKEN
    # To the last step of the plan, so that the lines have their names before training.
    ends = (0, max(experiment.training.steps, *steps))
    known = level_table({name: setup.controls[name].r2 for name in (above, LAST_TOKEN)}, ends)
    draw_chart(
        lines_chart(
            table,
            known,
            x=Scale("step", ",d", ",d"),
            y=Scale("R²", ".3f", zero=False),
            series=distinct(names.values()),
            noun="activations",
            height=_CHART_HEIGHT,
        ),
        name="R² over training",
        alt=f"R² of the {chosen_target()} at {len(names)} sites over {len(steps)} steps, "
        "beside its controls.",
    )
    scores = (f"{name} {show_score(score)}" for name, score in setup.controls.items())
    st.caption(f"R² without the trained model: {'; '.join(scores)}.")


def answer(where: str, noun: str, site: str, score: Score) -> str:
    """Return whether the targets are an affine function of the activations, with R²."""
    the = f"{where}{'the' if where else 'The'} exact {noun}"
    if np.isnan(score.r2):
        return f"**{the} are all equal**, so R² is not defined."
    place = "at the output" if site == "output" else f"after {site}"
    extent = "nearly" if score.r2 >= _DETERMINED else "only partly"
    return (
        f"**{the} are {extent} an affine function of the activations {place}:** "
        f"R² {show_score(score)}."
    )


def verdict(sites: Sequence[SiteProbe], controls: Mapping[str, Score]) -> str:
    """Explain what a high R² shows, by comparing it with the controls."""
    law, untrained = controls[NEXT_TOKEN].r2, max(each.untrained.r2 for each in sites)
    text = (
        f"Before training, a probe of one of these activations reaches R² {untrained:.2f} at best. "
    )
    if BEST in controls:
        return text + f"No probe can beat the exact belief, which reaches {controls[BEST].r2:.2f}."
    if chosen_target() != "belief":
        return text
    if law > _DETERMINED:
        return text + (
            "Here the belief is nearly an affine function of the next-token distribution, so a "
            "high R² may show no more than good predictions."
        )
    return text + (
        f"The exact next-token distribution reaches {law:.2f}, so a higher R² shows more than good "
        "predictions."
    )
