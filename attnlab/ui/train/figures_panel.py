"""Results of a run, the best results its settings can reach, and samples from its model."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.comparisons.grid import show_prospect
from attnlab.comparisons.uncertainty import (
    OF_OTHER_SEEDS,
    OVER_TEST_SEQUENCES,
    above_best_text,
    known_text,
)
from attnlab.configuration.number_text import show_estimate
from attnlab.configuration.options import OptionError, label_of, options_of
from attnlab.generators import AbstractGenerator, continue_sequence
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.models.generation import beam_search, generate
from attnlab.optimum import Best, baselines_of, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Verdict, feasibility
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.figures import figure
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text, draw_warning

# A run diverges if its loss is this many times both the initial loss and a uniform guess's.
_DIVERGED = 1.5
_BEATEN = "fitted to the training blocks. A model may beat it"
# More names of controls would not fit on one line.
_MOST_NAMED = 3


def draw_figures(snapshot: Snapshot, test: Evaluation, on_training_set: float | None) -> None:
    """Draw accuracy and loss of one evaluation, with standard errors, and reference values.

    `on_training_set` is the accuracy there, if the data are fixed.
    """
    experiment = snapshot.experiment
    # A run that a script saved may have no evaluation at step 0.
    training, first = experiment.training, dict(snapshot.history.tests).get(0)
    vocab = experiment.generator.vocabulary.size
    is_exact = training.data == "law"
    tested = "all possible sequences" if is_exact else f"{training.test_size:,} test sequences"
    of_test = ". It is exact." if is_exact else f"; {OVER_TEST_SEQUENCES}."
    if experiment.generator.has_loss_mask():
        tested = f"the predicted tokens of {tested}"
    best = figure(optimum, experiment.generator, experiment.length)
    baselines = figure(baselines_of, experiment.generator, experiment.length)
    word, words = experiment.generator.position_word, experiment.generator.best_words
    about_best = (
        f"The accuracy of the best possible prediction from the visible {word}s (Bayes accuracy)."
        if experiment.generator.has_law
        else f"Of the reference predictor with the lowest loss, {_BEATEN}."
    )
    with st.container(horizontal=True, gap="medium", key="figures"):
        draw_metric(
            "test accuracy",
            show_estimate(test.accuracy, test.accuracy_stderr),
            f"Share of {tested} for which the model's most probable token is the true one{of_test}",
        )
        if on_training_set is not None:
            draw_metric(
                "training accuracy",
                f"{on_training_set:.3f}",
                "Accuracy on the training set, or on its first 1,000 sequences. If it is clearly "
                "above the test accuracy, the model overfits.",
            )
        if best is not None:
            draw_metric(
                words.ceiling,
                known_text(best.final, "accuracy"),
                f"{about_best} {_source(best.final)}",
            )
        if baselines is not None:
            unigram = next(each.best for each in baselines if each.name == "unigram")
            draw_metric(
                "majority class",
                known_text(unigram, "accuracy"),
                f"The accuracy of always predicting the most common token. {_source(unigram)}",
            )
        draw_metric(
            "test loss (nats)",
            show_estimate(test.nll, test.nll_stderr),
            f"Mean of −log p(next {word}) over {tested}{of_test}",
        )
        if first is not None:
            draw_metric(
                "test loss at step 0",
                show_estimate(first.nll, first.nll_stderr),
                "The same settings and seed always give the same initial weights, and so the same "
                "loss at step 0.",
            )
        draw_metric("parameters", f"{snapshot.parameters:,}", "Number of trained parameters.")
    remark = ""
    if best is not None and experiment.generator.has_law:
        remark = above_best_text(test, best.final)
    errors = f"± is one standard error over the test sequences; {OF_OTHER_SEEDS}."
    if is_exact:
        errors = "Loss and accuracy are exact; other initial weights give other results."
    st.caption(f"{errors} {remark}")
    # Predictions that are tested but not trained may have a large loss without any divergence.
    trained = not experiment.tests_more_than_trained
    if first is not None and trained and test.nll > max(first.nll, np.log(vocab)) * _DIVERGED:
        draw_warning(
            "The loss is far above its initial value: the run diverges. Lower the learning rate, "
            f"which is {training.learning_rate:g}, and reset.",
            icon=":material/trending_up:",
        )


def _source(best: Best) -> str:
    return f"It is {'computed exactly' if best.exact else 'estimated, ± one standard error'}."


def draw_prospect(form: Experiment | OptionError, *, is_other: bool, is_started: bool) -> None:
    """Draw, on one line, the best possible accuracy and the settings that prevent it.

    Args:
        form: The experiment that the controls describe.
        is_other: Whether the settings differ from those of the shown run.
        is_started: Whether this experiment was started; before that, its duration is shown, too.
    """
    if isinstance(form, OptionError):
        return
    verdict = figure(feasibility, form)
    with st.container(key="verdict", width="content"):
        if verdict is None:
            st.caption(":material/hourglass_top: Computing what can be learned …")
            return
        accuracy = known_text(verdict.best, "accuracy") + " (estimated)" * (not verdict.best.exact)
        process = form.generator
        best = "best possible accuracy" if process.has_law else process.best_words.ceiling
        best = f"{f'New settings: {best}' if is_other else best.capitalize()} {accuracy}"
        # Badges in a caption are too pale to read.
        prospect = "" if is_started else figure(show_prospect, form)
        parts = [f":small[:gray[{best}{f'. {prospect}' if prospect else ''}]]"]
        controls = dict(_findings(form, verdict))
        # Once a run has started, the sentence below the charts and its advice say more.
        if controls and not is_started:
            named = ", ".join(list(controls)[:_MOST_NAMED]) + " …" * (len(controls) > _MOST_NAMED)
            parts.append(f":yellow-badge[:material/report: {named}: see below]")
        st.markdown(" ".join(parts))


def draw_findings(form: Experiment | OptionError) -> None:
    """Draw the problems of the settings, each with the label of its control."""
    if isinstance(form, OptionError) or (verdict := figure(feasibility, form)) is None:
        return
    findings = [f"{control}: {text}" for control, text in _findings(form, verdict)]
    if findings:
        with st.container(key="findings"):
            draw_warning("About these settings:", *findings, icon=":material/report:")


def _findings(form: Experiment, verdict: Verdict) -> list[tuple[str, str]]:
    """Return the label of a control and its problem, for each problem of the settings."""
    found = [(finding.option, finding.text) for finding in verdict.findings]
    reachable = verdict.reachable
    if reachable is not None and reachable.nll > verdict.best.nll + 1e-3:
        accuracy, loss = (known_text(reachable, name) for name in ("accuracy", "nll"))
        words = (
            f"These settings cannot beat a predictor with accuracy {accuracy}, loss {loss} nats "
            f"({'exact' if reachable.exact else 'estimated'})."
        )
        found.append(("model", words))
    # Options of the experiment come first where names are equal.
    parts = (form.generator, form.training, form.model, form)
    specs = {name: spec for part in parts for name, spec in options_of(part).items()}
    return [(label_of(option, specs[option], unit=False), text) for option, text in found]


# Continued sequences, and the tokens and the number of the most probable continuations.
_ROWS, _DAYS, _LIKELIEST_DAYS, _LIKELIEST = 6, 10, 4, 5
# A beam of width vocab ** (days - 1) searches exhaustively; this is the maximum width.
_WIDEST_BEAM = 1_000


def draw_sequences(run: LiveRun) -> None:
    """Draw continuations of some sequences, sampled from the process and from the model.

    Draw nothing for a task: its sequence ends with the target, which Look inside shows.
    """
    if not run.snapshot().experiment.generator.prompt_length():
        _draw_sequences(run)


@panel("Samples from the model and from the process", key="sequences", icon="view_week")
def _draw_sequences(run: LiveRun) -> None:
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
            "1 draws from the model's own probabilities; 0 always takes the most probable token."
        ),
    )
    experiment, model = snapshot.experiment, stored.state.model
    process, word = experiment.generator, experiment.generator.position_word
    readout, rows = experiment.training.readout, []
    for seen, key in zip(
        snapshot.probes[:_ROWS], jr.split(jr.key(experiment.seed), _ROWS), strict=True
    ):
        process_key, model_key = jr.split(key)
        truth = continue_sequence(process, seen, key=process_key, size=1, days=_DAYS)[0]
        how = {"readout": readout, "days": _DAYS, "temperature": temperature}
        learned = generate(model, seen, **how, key=model_key)
        rows.append([_render(process, tokens) for tokens in (seen, truth, learned)])
    by = "the process" if process.has_law else "the best reference"
    names = (f"visible {word}s", f"continued by {by}", "continued by the model")
    st.markdown(_as_table(names, rows))
    st.caption(
        f"Samples of {by} and of the model at step {int(stored.state.step):,}, each "
        f"continuing the same visible {word}s by {_DAYS}."
    )
    _draw_likeliest(experiment, model, snapshot.probes[0])


def _draw_likeliest(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    process, readout = experiment.generator, experiment.training.readout
    width = process.vocabulary.size ** (_LIKELIEST_DAYS - 1)
    how = {"days": _LIKELIEST_DAYS, "width": min(width, _WIDEST_BEAM)}
    beam = beam_search(model, jnp.asarray(tokens), readout=readout, **how)
    found = zip(beam.continuations[:_LIKELIEST], beam.log_probs[:_LIKELIEST], strict=True)
    rows = [
        (_render(process, days), f"{float(log_prob):.2f}".replace("-", "−"))
        for days, log_prob in found
    ]
    names = (f"after {_render(process, tokens)}", "log-probability (nats)")
    st.markdown(_as_table(names, rows))
    in_beam = "" if width <= _WIDEST_BEAM else f" that a beam of {_WIDEST_BEAM:,} finds"
    st.caption(
        f"The {_LIKELIEST} most probable continuations of the first row by {_LIKELIEST_DAYS} "
        f"{process.position_word}s{in_beam}, with the model's log-probability in nats."
    )


def _render(process: AbstractGenerator, tokens: Any) -> str:
    return as_text(process.vocabulary.shorten(tokens))


def _as_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows))
