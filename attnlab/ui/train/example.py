"""A finished small run that is on the screen before anything was trained."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.live.live_run import LiveRun
from attnlab.models import AttentionMap, Trace
from attnlab.models.inside import trace_of
from attnlab.runs.history import History
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json, to_json
from attnlab.training.loop import Look

EXAMPLE_FILE = Path(__file__).with_name("example.npz")


class Example(NamedTuple):
    """A finished run without its model: what the page shows of it, and its first sequence."""

    snapshot: Snapshot
    trace: Trace


@st.cache_resource(show_spinner=False)
def read_example(file: Path = EXAMPLE_FILE) -> Example:
    """The example that comes with attnlab."""
    with np.load(file, allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
        tests = tuple((step, Evaluation(*figures)) for step, *figures in about["tests"])
        step, evaluation = tests[-1]
        snapshot = Snapshot(
            experiment=from_json(about["experiment"]),
            state="done",
            step=step,
            history=History(losses=stored["losses"], tests=tests),
            latest=Look(step=step, evaluation=evaluation, model=None),
            probes=stored["probes"],
            parameters=about["parameters"],
            steps_per_second=0.0,
            seconds=0.0,
            message="",
        )
        found = AttentionMap(stored["pattern"], stored["mask"], layer=0)
        return Example(snapshot, Trace((found,)))


def about(example: Example) -> str:
    """The example in a sentence, in Markdown."""
    snapshot = example.snapshot
    return (
        f"a run of `{snapshot.experiment.generator.name}` with all settings at their defaults, "
        f"{snapshot.step:,} steps, trained beforehand."
    )


def make_example(experiment: Experiment) -> Example:
    """Train the experiment to its end."""
    run = LiveRun(experiment)
    run.start()
    run.wait(600.0)
    snapshot = run.snapshot()
    return Example(snapshot, trace_of(snapshot.latest.model, snapshot.probes[0]))


def write_example(example: Example, file: Path) -> None:
    """What `read_example` reads."""
    snapshot = example.snapshot
    about = {
        "experiment": to_json(snapshot.experiment),
        "parameters": snapshot.parameters,
        "tests": [[step, *evaluation] for step, evaluation in snapshot.history.tests],
    }
    np.savez_compressed(
        file,
        about=np.array(json.dumps(about)),
        losses=snapshot.history.losses,
        probes=snapshot.probes,
        pattern=example.trace.attention[0].pattern,
        mask=example.trace.attention[0].mask,
    )
