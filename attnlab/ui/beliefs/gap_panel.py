"""The gap in nats on the Beliefs page: what is not represented, and what is not used."""

from functools import partial

import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.inspection import BeliefGap, belief_gap, probe_all_sites
from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe
from attnlab.inspection.probes import activations
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment
from attnlab.ui.beliefs.course_panel import show_score
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.session import kept_result
from attnlab.ui.core.uncertainty import OVER_TEST_SEQUENCES


def draw_together(
    experiment: Experiment, target: str, model: AbstractModel, setup: ProbeSetup
) -> None:
    """Draw R² of one probe that reads the activations of all sites."""
    make = partial(probe_all_sites, setup, model)
    together = kept_result("all_sites", model, (experiment, target), make)
    st.caption(f"A probe of all activations together reaches R² {show_score(together.score)}.")


def draw_gap(
    experiment: Experiment,
    model: AbstractModel,
    setup: ProbeSetup,
    chosen: SiteProbe,
) -> None:
    """Draw the gap of a model to the floor, split at the belief that a probe finds."""

    def split() -> BeliefGap:
        rows = activations(model, setup.test.sequences, [chosen.site])[chosen.site]
        return belief_gap(experiment.generator, model, chosen.trained.probe, rows, setup.test)

    gap = kept_result("belief_gap", model, (experiment, chosen.site), split)
    st.header("Gap between expected loss and floor", anchor=False)
    st.caption(
        "It has two parts: what the probe does not find in the activations, and what the model "
        "does not use."
    )
    with st.container(horizontal=True, gap="medium", key="belief_gap"):
        for label, value, stderr, explanation in (
            ("gap to the floor (nats)", gap.gap, gap.gap_stderr, "Loss of the model minus floor."),
            (
                "not represented (nats)",
                gap.not_represented,
                gap.not_represented_stderr,
                "Loss of the predictions computed from the probed belief, minus floor.",
            ),
            (
                "represented, not used (nats)",
                gap.not_used,
                gap.not_used_stderr,
                "The rest; negative if the model predicts better than the probed belief.",
            ),
        ):
            draw_metric(
                label,
                show_measured(value, stderr, most_places=4),
                f"{explanation} Mean over all tokens; {OVER_TEST_SEQUENCES}.",
            )
