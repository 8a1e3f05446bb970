"""The session's runs on one process, each with its name and the share that it learned."""

import streamlit as st

from attnlab.inspection.advice import Advice
from attnlab.optimum import optimum
from attnlab.runs.differences import changes_between
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.training.shares import learned_share
from attnlab.ui.core.figures import figure
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import session

# The most earlier runs that are shown.
_MOST_EARLIER = 5
_ADVISED = "advised"


def note_advice(advice: Advice) -> None:
    """Name the advised experiment after the advice."""
    session().kept.setdefault(_ADVISED, {})[advice.experiment] = advice.name


def draw_walk(snapshot: Snapshot, test: Evaluation | None) -> None:
    """Draw what each run on the process of the current one learned, once there are several.

    `test` is the evaluation of the current run that is shown, if there is one.
    """
    current = snapshot.experiment
    best = figure(optimum, current.generator, current.length)
    runs = [run for run in session().past_runs if _is_comparable(run.experiment, current)]
    tests = [(run.experiment, run.evaluation) for run in runs if run.evaluation is not None]
    if best is None or not tests:
        return
    vocab = current.generator.vocabulary.size
    names, errors, before = [], [], None
    for experiment, evaluation in [*tests[-_MOST_EARLIER:], (current, test)]:
        name = as_text(_name(experiment, before))
        if evaluation is not None:
            share = learned_share(evaluation, best.final, vocab)
            if share is not None:
                name += f" {100 * max(share.share, 0):.0f} %"
                errors.append(100 * share.stderr)
        names.append(name)
        before = experiment
    with st.container(key="walk"):
        st.markdown(
            f"Learned: {' → '.join(names[:-1])} → **{names[-1]}**",
            help="Share of what can be learned, by earlier runs of this session and by this one. "
            f"Its largest standard error over the test sequences is {max(errors, default=0):.1f} "
            "percentage points.",
        )


def _is_comparable(experiment: Experiment, other: Experiment) -> bool:
    process = experiment.generator, experiment.length
    return process == (other.generator, other.length) and experiment != other


def _name(experiment: Experiment, before: Experiment | None) -> str:
    """Return the advice that led to an experiment, or its preset, or what has changed."""
    if (advised := session().kept.get(_ADVISED, {}).get(experiment)) is not None:
        return advised
    for preset in PRESETS.values():
        if preset.matches(experiment):
            return preset.short
    changes = () if before is None else changes_between(before, experiment)
    return f"{changes[0].label} {changes[0].after}" if changes else experiment.model.name
