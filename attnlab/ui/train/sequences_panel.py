"""Sequences from the process and from the model, side by side."""

import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.configuration.position_words import with_position_word
from attnlab.generators import continue_sequence
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.models.generation import beam_search, generate
from attnlab.training.experiment import Experiment
from attnlab.ui.core.outside import as_text

_ROWS = 6
_DAYS = 10
_LIKELIEST_DAYS = 4
_LIKELIEST = 5
# As wide a beam as there are tokens to the power of the days but one misses nothing.
_WIDEST_BEAM = 1_000


def draw_sequences(run: LiveRun) -> None:
    """How the process goes on after some sequences, and how the model does.

    Nothing of a task: that ends with its target, which Inspect shows written.
    """
    if run.snapshot().experiment.generator.given():
        return
    panel = st.expander(
        "Samples from the model, beside the process",
        key="sequences",
        on_change="rerun",
        icon=":material/view_week:",
    )
    if not panel.open:
        return
    with panel:
        stored, snapshot = run.stored(), run.snapshot()
        if stored is None or snapshot.probes is None:
            st.info("Start a run first: there is no model yet.", icon=":material/play_circle:")
            return
        temperature = st.slider(
            "temperature",
            0.0,
            2.0,
            1.0,
            0.1,
            key="temperature_of_days",
            help=(
                "1 draws from the model's own probabilities; 0 always takes the most probable "
                "token."
            ),
        )
        model = stored.state.model
        st.markdown(_side_by_side(snapshot.experiment, model, snapshot.probes, temperature))
        words = (
            f"Each row starts from the same visible days and goes on for {_DAYS} more: once drawn "
            f"from the process, once from the model of step {int(stored.state.step):,}."
        )
        st.caption(with_position_word(words, snapshot.experiment.generator.position_word))
        _draw_likeliest(snapshot.experiment, model, snapshot.probes[0])


def _side_by_side(
    experiment: Experiment, model: AbstractModel, probes: np.ndarray, temperature: float
) -> str:
    def render(days: np.ndarray) -> str:
        return as_text(experiment.generator.vocabulary.render(days))

    word = experiment.generator.position_word
    lines = [f"| visible {word}s | the process goes on | the model goes on |", "|---|---|---|"]
    for row, key in zip(probes[:_ROWS], jr.split(jr.key(experiment.seed), _ROWS), strict=True):
        process_key, model_key = jr.split(key)
        truth = continue_sequence(experiment.generator, row, key=process_key, size=1, days=_DAYS)[0]
        learned = generate(
            model,
            row,
            readout=experiment.training.readout,
            days=_DAYS,
            temperature=temperature,
            key=model_key,
        )
        lines.append(f"| {render(row)} | {render(truth)} | {render(learned)} |")
    return "\n".join(lines)


def _draw_likeliest(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    def render(days: np.ndarray) -> str:
        return as_text(experiment.generator.vocabulary.render(days))

    width = experiment.generator.vocabulary.size ** (_LIKELIEST_DAYS - 1)
    beam = beam_search(
        model,
        tokens,
        readout=experiment.training.readout,
        days=_LIKELIEST_DAYS,
        width=min(width, _WIDEST_BEAM),
    )
    lines = ["| after " + render(tokens) + " | log-probability (nats) |", "|---|---|"]
    for days, log_prob in zip(
        beam.continuations[:_LIKELIEST], beam.log_probs[:_LIKELIEST], strict=True
    ):
        lines.append(f"| {render(days)} | {float(log_prob):.2f} |")
    st.markdown("\n".join(lines))
    found = "" if width <= _WIDEST_BEAM else f" that a beam of {_WIDEST_BEAM:,} finds"
    st.caption(
        f"The {_LIKELIEST} most probable continuations of the first row by {_LIKELIEST_DAYS} "
        f"{experiment.generator.position_word}s{found}, with the model's log-probability in nats."
    )
