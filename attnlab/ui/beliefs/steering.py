"""Steering: put another belief into the model, and see what it predicts."""

import numpy as np
import streamlit as st

from attnlab.charts import next_day_chart
from attnlab.configuration.number_text import show_estimate, show_percent
from attnlab.inspection import steer
from attnlab.inspection.belief_gap import divergence, next_probs_of
from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe
from attnlab.models import AbstractModel
from attnlab.optimum.sequences import mean_and_error
from attnlab.training.experiment import Experiment
from attnlab.ui.beliefs.planes import Targets, draw_choice, points_of
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result

_CHART_HEIGHT = 220


def draw_steering(
    experiment: Experiment,
    model: AbstractModel,
    setup: ProbeSetup,
    site: SiteProbe,
    targets: Targets,
) -> None:
    """Draw what the model predicts with the chosen belief in its activation at a site."""
    process, tokens = experiment.generator, setup.test.sequences[0]
    points, remark = points_of(targets, setup, process)
    beliefs = points.beliefs
    found = kept_result(
        "steered",
        model,
        (experiment, site.site, beliefs.tobytes()),
        lambda: steer(model, site.trained.probe, site.site, tokens, beliefs),
    )
    injected = next_probs_of(process, beliefs)
    of_tokens = np.broadcast_to(setup.test.next_probs[0, -1], injected.shape)
    number, symbols = points.chosen, process.vocabulary.symbols
    st.header("Does the model use the belief? Steering", anchor=False)
    st.markdown(
        f"The model has read {process.vocabulary.shorten(tokens)}. Click or drag in the chart: "
        "that belief replaces the one in the activation at the last token."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        draw_choice(targets, points, remark)
    with right:
        shown = {
            "chosen belief": injected[number],
            "exact belief": of_tokens[number],
            "model": found.probs[number],
        }
        says = "; ".join(
            f"{name}: {', '.join(map('{} {}'.format, symbols, map(show_percent, probs)))}"
            for name, probs in shown.items()
        )
        draw_chart(
            next_day_chart(
                shown,
                symbols=symbols,
                word=process.position_word,
                height=_CHART_HEIGHT,
            ),
            name="Steered prediction",
            alt="The next token by the chosen and the exact belief, and by the model after "
            f"steering. {says}.",
        )
    predictions = {
        "after steering": found.probs,
        "after a random move of the same length": found.control,
        "without steering": np.broadcast_to(found.plain, injected.shape),
    }
    grid = ", and over evenly spaced beliefs" * (points.on_grid > 0)
    st.markdown(
        f"The table shows the {link_to('KL divergence')} (nats) between the exact prediction "
        "of a belief and the model's. Steering should make it small for the chosen belief. "
        "Means ± one standard error over the beliefs after "
        f"{len(beliefs) - points.on_grid:,} sequences{grid}."
    )
    parts = {"": slice(points.on_grid, None), ", evenly spaced": slice(points.on_grid)}
    # Without digits by which equal values would have an error.
    apart = {
        f"{name}{where}": [
            show_estimate(*np.round(mean_and_error(divergence(exact, each)[at]), 9), most_places=4)
            for each in predictions.values()
        ]
        for where, at in parts.items()
        if len(beliefs[at])
        for name, exact in (("to chosen belief", injected), ("to exact belief", of_tokens))
    }
    st.table({"prediction": list(predictions)} | apart)
