"""R² of probes on the tab “What it believes”: its words, and its course over training."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Scale, distinct, level_table, lines_chart, series_table
from attnlab.configuration.options import OptionError
from attnlab.film import Probed
from attnlab.inspection.belief_probes import (
    BEST,
    LAST_TOKEN,
    NEXT_TOKEN,
    SiteProbe,
    check_can_probe,
)
from attnlab.inspection.probes import Score, show_score
from attnlab.training.experiment import Experiment
from attnlab.ui.core.page_charts import draw_view
from attnlab.ui.train.course import Course
from attnlab.ui.train.film_subject import TARGET

_CHART_HEIGHT = 300
# R² from which one thing counts as nearly an affine function of another.
_DETERMINED = 0.99


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


def draw_course(
    course: Course[dict[str, Probed]],
    names: Mapping[str, str],
    controls: Mapping[str, Score],
    last_step: int,
) -> None:
    """Draw R² at every site over the steps that were probed, beside that of the controls.

    The axis reaches the planned `last_step`, so that the lines have their names before training.
    """
    curve = course.curve()
    if not curve:
        st.caption(":material/hourglass_top: Computing R² over training …")
        return
    if left := len(course.missing()):
        st.caption(f":material/hourglass_top: Computing R² at {left} more steps …")
    steps = [step for step, _ in curve]
    table = pd.concat(
        series_table(name, steps, [found[site].score.r2 for _, found in curve])
        for site, name in names.items()
    )
    # The best readout of hidden states, where it is known, says more than the prediction.
    above = BEST if BEST in controls else NEXT_TOKEN
    known = {name: controls[name].r2 for name in (above, LAST_TOKEN)}
    draw_view(
        "R² over training",
        lines_chart(
            table,
            level_table(known, (0, max(last_step, *steps))),
            x=Scale("step", ",d", ",d"),
            y=Scale("R²", ".3f", zero=False),
            series=distinct(names.values()),
            noun="activations",
            height=_CHART_HEIGHT,
        ),
        "Dashed lines do not use the model.",
        alt=f"R² of the {chosen_target()} at {len(names)} sites over {len(steps)} steps, "
        "beside its controls.",
    )
    scores = (f"{name} {show_score(score)}" for name, score in controls.items())
    st.caption(f"R² without the trained model: {'; '.join(scores)}.")


def answer(where: str, noun: str, site: str, score: Score) -> str:
    """Return how far the targets are an affine function of the activations, with R²."""
    if np.isnan(score.r2):
        the = f"{where}the" if where else "The"
        return f"**{the} exact {noun} are all equal**, so R² is not defined."
    a = f"{where}a" if where else "A"
    place = "at the output" if site == "output" else f"after {site}"
    extent = "nearly exactly" if score.r2 >= _DETERMINED else "only in part"
    return f"**{a} linear readout {place} recovers the {noun} {extent}:** R² {show_score(score)}."


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
