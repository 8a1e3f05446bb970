"""The gap in nats on the Beliefs page: what a probe does not find, and what is not used."""

from functools import partial

import numpy as np
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.inspection import BeliefGap, belief_gap, probe_all_sites
from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe
from attnlab.inspection.probes import activations
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment, build_model
from attnlab.ui.beliefs.course_panel import show_score
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.session import kept_result
from attnlab.ui.core.uncertainty import OVER_TEST_SEQUENCES


def draw_together(
    experiment: Experiment, target: str, model: AbstractModel, setup: ProbeSetup
) -> None:
    """Draw R² of one probe of the activations of all sites, after and before training."""
    make = partial(probe_all_sites, setup, model)
    together = kept_result("all_sites", model, (experiment, target), make)
    untrained = kept_result(
        "untrained_all_sites", setup, None, lambda: probe_all_sites(setup, build_model(experiment))
    )
    after, before = (setup.score_of_new(each) for each in (together, untrained))
    at_new = (
        f" On pasts that were not fitted, these are {show_score(after)} and {show_score(before)}."
    )
    st.caption(
        f"A probe of all activations together reaches R² {show_score(together.score)}; before "
        f"training, it reaches {show_score(untrained.score)}.{at_new * (not np.isnan(after.r2))}",
        help="All activations together can be more numbers than there are different pasts. Then a "
        "probe can fit any target, and only other pasts show whether the belief is there.",
    )


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
    words, rest = (
        "It has two parts: what the probe does not find in the activations, and what the model "
        "knows but does not use.",
        ("known, but not used (nats)", gap.not_used, "The rest of the gap."),
    )
    if gap.beats_probe:
        words, rest = (
            "The model predicts better than the belief that the probe finds. So it uses something "
            "that a linear probe of these activations misses.",
            ("used, but not found (nats)", -gap.not_used, "The second minus the first number."),
        )
    st.caption(words)
    with st.container(horizontal=True, gap="medium", key="belief_gap"):
        parts = (
            ("gap to the floor (nats)", gap.gap, "Loss of the model minus floor."),
            (
                "not found by the probe (nats)",
                gap.not_represented,
                "Loss of the predictions computed from the probed belief, minus floor.",
            ),
            rest,
        )
        errors = gap.gap_stderr, gap.not_represented_stderr, gap.not_used_stderr
        for (label, value, explanation), stderr in zip(parts, errors, strict=True):
            draw_metric(
                label,
                show_measured(value, stderr, most_places=4),
                f"{explanation} Mean over all tokens; {OVER_TEST_SEQUENCES}.",
            )
