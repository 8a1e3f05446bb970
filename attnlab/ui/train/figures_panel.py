"""Results of a run, the best results its settings can reach, and samples from its model."""

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.comparisons.grid import show_prospect
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import Finding, OptionError, label_of, options_of, present
from attnlab.generators import continue_sequence
from attnlab.inspection.strategies import has_references
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.models.generation import beam_search, generate
from attnlab.optimum import Best, ladder, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Verdict, feasibility
from attnlab.training.shares import learned_share
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.figures import figure
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text, draw_warning
from attnlab.ui.core.uncertainty import (
    OF_OTHER_SEEDS,
    OVER_TEST_SEQUENCES,
    above_best_text,
    known_text,
)

# A run diverges if its loss is this many times both the initial loss and a uniform guess's.
_DIVERGED = 1.5
# Below this share learned, no percentage is shown. At -1 the loss is as far above a uniform guess
# as the floor is below it.
_HOPELESS = -1.0


def draw_headline(snapshot: Snapshot, test: Evaluation, whose: str) -> None:
    """Draw share learned and accuracy at one evaluation, once it is known what can be learned.

    `whose` is a label of the run, or "".
    """
    experiment = snapshot.experiment
    best = figure(optimum, experiment.generator, experiment.length)
    if best is None:
        return
    vocab = experiment.generator.vocabulary.size
    learned = learned_share(test, best.final, vocab)
    with st.container(key="headline", width="content", horizontal=True):
        if whose:
            st.markdown(f":gray-badge[{whose}]", width="content")
        if learned is None:
            st.markdown("nothing to learn: a uniform guess is optimal", width="content")
        elif learned.share < _HOPELESS:
            st.markdown("worse than a uniform guess", width="content")
        else:
            places = 1 if learned.stderr < 0.005 else 0
            share = show_measured(100 * learned.share, 100 * learned.stderr, most_places=places)
            accuracy = show_measured(test.accuracy, test.accuracy_stderr)
            remark = above_best_text(test, best.final)
            st.markdown(
                f"learned **{share} %**{_simplest(experiment, best.final)}, accuracy {accuracy}",
                width="content",
                help=(
                    "Share learned: 1 − (loss − true loss) / (uniform − floor). The true loss is "
                    "that of the true probabilities on the same sequences. A uniform guess has "
                    "learned 0 %, the optimum 100 %. The floor is the Bayes loss, the lowest "
                    "expected loss of any predictor. ± is one standard error over the test "
                    f"sequences; {OF_OTHER_SEEDS}. If the floor is estimated, ± includes its "
                    "error. A share in brackets is that of the process's best simple predictor. "
                    f"{remark}"
                ),
            )


def _simplest(experiment: Experiment, best: Best) -> str:
    """Return the share that the best simple predictor of a process has learned, if it has any."""
    generator = experiment.generator
    known = figure(ladder, generator, experiment.length) if has_references(generator) else None
    if known is None:
        return ""
    *_, simple, _ = known
    share = present(learned_share(simple.best, best, generator.vocabulary.size)).share
    return f" ({simple.name}: {100 * share:.0f} %)"


def draw_figures(snapshot: Snapshot, test: Evaluation, on_training_set: float | None) -> None:
    """Draw accuracy and loss of one evaluation, with standard errors, and reference values.

    `on_training_set` is the accuracy there, if the data are fixed.
    """
    experiment = snapshot.experiment
    # A run that a script saved may have no evaluation at step 0.
    training, first = experiment.training, dict(snapshot.history.tests).get(0)
    vocab = experiment.generator.vocabulary.size
    tested = f"{training.test_size:,} test sequences"
    if experiment.generator.has_loss_mask():
        tested = f"the predicted tokens of {tested}"
    best = figure(optimum, experiment.generator, experiment.length)
    baselines = figure(ladder, experiment.generator, experiment.length)
    word = experiment.generator.position_word
    with st.container(horizontal=True, gap="medium", key="figures"):
        draw_metric(
            "test accuracy",
            show_measured(test.accuracy, test.accuracy_stderr),
            f"Share of {tested} for which the model's most probable token is the true one. ± is "
            "one standard error over the test sequences.",
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
                "ceiling",
                known_text(best.final, "accuracy"),
                f"The accuracy of the best possible prediction from the visible {word}s (Bayes "
                f"accuracy). {_source(best.final)}",
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
            show_measured(test.nll, test.nll_stderr),
            f"Mean of −log p(observed next {word}); {OVER_TEST_SEQUENCES}.",
        )
        if first is not None:
            draw_metric(
                "test loss at step 0",
                show_measured(first.nll, first.nll_stderr),
                "The same settings and seed always give the same initial weights, and so the same "
                "loss at step 0.",
            )
        draw_metric("parameters", f"{snapshot.parameters:,}", "Number of trained parameters.")
    remark = "" if best is None else above_best_text(test, best.final)
    st.caption(f"± is one standard error over the test sequences; {OF_OTHER_SEEDS}. {remark}")
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


# All names are on one line.
_MOST_NAMED = 3


def draw_prospect(form: Experiment | OptionError, whose: str, *, is_started: bool) -> None:
    """Draw, on one line, the best possible accuracy and the settings that prevent it.

    Args:
        form: The experiment that the controls describe.
        whose: A label of the settings if they differ from those of the run, or "".
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
        # Beside the accuracy of the run the word is not repeated.
        best = f"best possible {accuracy}" if is_started else f"Best possible accuracy {accuracy}"
        parts = [f":gray-badge[{whose}]"] if whose else []
        # Badges in a caption are too pale to read.
        prospect = "" if is_started else figure(show_prospect, form)
        parts.append(f":small[:gray[{best}{f'. {prospect}' if prospect else ''}]]")
        controls = dict.fromkeys(_control(form, finding) for finding in _findings(verdict))
        # Once a run has started, the sentence below the charts and its advice say more.
        if controls and not is_started:
            named = ", ".join(list(controls)[:_MOST_NAMED]) + " …" * (len(controls) > _MOST_NAMED)
            parts.append(f":yellow-badge[:material/report: {named}: notes below the charts]")
        st.markdown(" ".join(parts))


def draw_findings(form: Experiment | OptionError) -> None:
    """Draw the problems of the settings, each with the label of its control."""
    if isinstance(form, OptionError) or (verdict := figure(feasibility, form)) is None:
        return
    findings = [f"{_control(form, finding)}: {finding.text}" for finding in _findings(verdict)]
    if findings:
        with st.container(key="findings"):
            draw_warning("About these settings:", *findings, icon=":material/report:")


def _findings(verdict: Verdict) -> list[Finding]:
    findings = list(verdict.findings)
    reachable = verdict.reachable
    if reachable is not None and reachable.nll > verdict.best.nll + 1e-3:
        accuracy, loss = (known_text(reachable, name) for name in ("accuracy", "nll"))
        source = "exact" if reachable.exact else "estimated"
        words = (
            f"These settings cannot beat a predictor with accuracy {accuracy}, loss {loss} nats "
            f"({source})."
        )
        findings.append(Finding("model", words))
    return findings


def _control(form: Experiment, finding: Finding) -> str:
    """Return the label of the control that a finding is about."""
    for part in (form, form.model, form.training):
        if (spec := options_of(part).get(finding.option)) is not None:
            return label_of(finding.option, spec, unit=False)
    raise ValueError(f"no control of {finding.option!r}")


_ROWS = 6
_DAYS = 10
_LIKELIEST_DAYS = 4
_LIKELIEST = 5
# A beam of width vocab ** (days - 1) searches exhaustively; this is the maximum width.
_WIDEST_BEAM = 1_000


def draw_sequences(run: LiveRun) -> None:
    """Draw continuations of some sequences, sampled from the process and from the model.

    Draw nothing for a task: its sequence ends with the target, which Inspect shows.
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
    model = stored.state.model
    st.markdown(_side_by_side(snapshot.experiment, model, snapshot.probes, temperature))
    st.caption(
        f"Samples of the process and of the model at step {int(stored.state.step):,}, each "
        f"continuing the same visible {snapshot.experiment.generator.position_word}s by {_DAYS}."
    )
    _draw_likeliest(snapshot.experiment, model, snapshot.probes[0])


def _render(experiment: Experiment, days: Any) -> str:
    return as_text(experiment.generator.vocabulary.shorten(days))


def _side_by_side(
    experiment: Experiment, model: AbstractModel, probes: np.ndarray, temperature: float
) -> str:
    word = experiment.generator.position_word
    lines = [
        f"| visible {word}s | continued by the process | continued by the model |",
        "|---|---|---|",
    ]
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
        cells = (_render(experiment, each) for each in (row, truth, learned))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _draw_likeliest(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    width = experiment.generator.vocabulary.size ** (_LIKELIEST_DAYS - 1)
    beam = beam_search(
        model,
        jnp.asarray(tokens),
        readout=experiment.training.readout,
        days=_LIKELIEST_DAYS,
        width=min(width, _WIDEST_BEAM),
    )
    lines = ["| after " + _render(experiment, tokens) + " | log-probability (nats) |", "|---|---|"]
    for days, log_prob in zip(
        beam.continuations[:_LIKELIEST], beam.log_probs[:_LIKELIEST], strict=True
    ):
        number = f"{float(log_prob):.2f}".replace("-", "−")
        lines.append(f"| {_render(experiment, days)} | {number} |")
    st.markdown("\n".join(lines))
    found = "" if width <= _WIDEST_BEAM else f" that a beam of {_WIDEST_BEAM:,} finds"
    st.caption(
        f"The {_LIKELIEST} most probable continuations of the first row by {_LIKELIEST_DAYS} "
        f"{experiment.generator.position_word}s{found}, with the model's log-probability in nats."
    )
