"""What a model knows of the beliefs: all sites, the gap to the floor, another run, attention."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Scale, Series, lines_chart, series_table
from attnlab.charts.style import HUES
from attnlab.comparisons.uncertainty import OVER_TEST_SEQUENCES
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import present
from attnlab.inspection import (
    BeliefGap,
    attention_by_distance,
    belief_gap,
    predicted_decay,
    prepare_probes,
    probe_all_sites,
    probe_sites,
)
from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe
from attnlab.inspection.probes import activations, show_score
from attnlab.models import AbstractModel
from attnlab.models.sites import site_title
from attnlab.runs.differences import label_of_change
from attnlab.runs.library import LibraryError, Query
from attnlab.runs.past_runs import name_of
from attnlab.runs.storage import RunFileError
from attnlab.training.experiment import Experiment, build_model
from attnlab.ui.beliefs.scores import can_probe
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.core.session_library import session_library

_CHART_HEIGHT = 260


def draw_attention(
    experiment: Experiment, model: AbstractModel, step: int, setup: ProbeSetup
) -> None:
    """Draw the attention to earlier tokens, if theory predicts it for this experiment."""
    decay = predicted_decay(experiment)
    if decay is None:
        return
    measure = partial(attention_by_distance, model, setup.test.sequences, decay)
    found = kept_result("attention", model, experiment, measure)
    st.header("Does attention fade with distance?", anchor=False)
    st.markdown(
        f"For `mess3` with parameter x, theory predicts attention proportional to "
        f"(1 − 3x)^distance = {decay:.3g}^distance.",
        help="One layer can only add up what each token says about the hidden state, which fades "
        "by a factor of 1 − 3x with every move (Piotrowski et al. 2025, “Constrained belief "
        "updates explain geometric structures in transformer representations”). In our runs it "
        "held for parameter a = 0.5 and failed for a = 0.85.",
    )
    distances = range(1, len(found.shares) + 1)
    shares = series_table("model", distances, found.shares, found.stderr)
    draw_chart(
        lines_chart(
            pd.concat([shares, series_table("theory", distances, found.predicted)]),
            x=Scale("distance to an earlier token", "d", "d", zero=False),
            y=Scale("share of attention", ".3f"),
            series=(Series("model"), Series("theory", HUES.truth, "diamond")),
            look="points",
            noun="shares",
            height=_CHART_HEIGHT,
        ),
        name="Attention by distance",
        alt=f"Shares of attention at {len(distances)} distances, of the model and in theory.",
    )
    closer = "closer to theory than" if found.deviation < found.uniform else "no closer than"
    st.caption(
        f"At step {step:,} the deviation from theory is "
        f"{show_measured(found.deviation, found.deviation_stderr)}: {closer} equal shares, which "
        f"deviate by {found.uniform:.3f}.",
        help="The deviation is the total variation, half the sum of absolute differences, ± one "
        "standard error over sequences. Shares are of the last token's attention to earlier "
        "tokens; its own token also reaches the output without attention.",
    )


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


def draw_beside(experiment: Experiment, target: str) -> None:
    """Draw the choice of another run of the same process, and its R² at every site."""
    library = session_library().library

    def fits(other: Experiment) -> bool:
        return (
            other != experiment
            and (other.generator, other.length) == (experiment.generator, experiment.length)
            and can_probe(other, target)
        )

    try:
        entries = library.entries(Query(generator=experiment.generator.name))
    except LibraryError:
        # The page Library shows the error.
        return
    found = {each.number: each for each in entries if each.has_model and fits(each.experiment)}
    if not found:
        return
    number = st.selectbox(
        "beside another run",
        list(found),
        index=None,
        placeholder="choose a run of this process",
        format_func=lambda number: (
            f"{name_of(found[number])}: {label_of_change(experiment, found[number].experiment)}"
        ),
        key=f"beliefs_beside_{len(found)}",
        width=420,
        help="The runs of the Library with the same process and length.",
    )
    if number is None:
        return

    def probe() -> tuple[SiteProbe, ...]:
        run = present(library.run_of(number))
        return probe_sites(prepare_probes(run.experiment, target), run.state.model)

    try:
        with st.spinner("Probing the other run …"):
            sites = kept_result("beside", None, (number, found[number].date, target), probe)
    except (LibraryError, RunFileError) as error:
        draw_error(str(error))
        return
    name = found[number].experiment.model.name
    st.table(
        {
            "activations after": [site_title(each.site) for each in sites],
            f"R², {name}": [show_score(each.trained.score) for each in sites],
            "before training": [show_score(each.untrained) for each in sites],
        }
    )


def draw_gap(
    experiment: Experiment, model: AbstractModel, setup: ProbeSetup, chosen: SiteProbe
) -> None:
    """Draw the gap of a model to the floor, split at the belief that a probe finds."""

    def split() -> BeliefGap:
        rows = activations(model, setup.test.sequences, [chosen.site])[chosen.site]
        return belief_gap(experiment.generator, model, chosen.trained.probe, rows, setup.test)

    gap = kept_result("belief_gap", model, (experiment, chosen.site), split)
    st.header("What is missing to the floor?", anchor=False)
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
