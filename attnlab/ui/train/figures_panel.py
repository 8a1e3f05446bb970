"""The numbers of a run, what its settings can reach, and samples from its model."""

import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import Finding, OptionError, label_of, options_of
from attnlab.generators import continue_sequence
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.models.generation import beam_search, generate
from attnlab.optimum import ladder, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Verdict, feasibility
from attnlab.training.shares import learned_share
from attnlab.ui.core.figures import accuracy_and_loss_text, accuracy_text, figure
from attnlab.ui.core.outside import as_text, draw_warning
from attnlab.ui.core.uncertainty import OF_OTHER_SEEDS, OVER_TEST_SEQUENCES

# A loss this many times that of the start, or of a uniform guess, is no noise.
_DIVERGED = 1.5
# As far above a uniform guess as the floor is below it: a percentage would say no more than this.
_HOPELESS = -1.0


def draw_headline(snapshot: Snapshot, test: Evaluation, whose: str) -> None:
    """Draw the share of what can be learned that one test shows; `whose` names the run."""
    experiment = snapshot.experiment
    best = figure(optimum, experiment.generator, experiment.length)
    if best is None:
        st.markdown(":material/hourglass_top: working out what can be learned …", width="content")
        return
    vocab = experiment.generator.vocabulary.size
    learned = learned_share(test, best.final, vocab)
    with st.container(key="headline", width="content", horizontal=True):
        if whose:
            st.markdown(f":orange-badge[{whose}]", width="content")
        if learned is None:
            st.markdown("nothing to learn: a uniform guess is the best", width="content")
        elif learned.share < _HOPELESS:
            st.markdown("worse than a uniform guess", width="content")
        else:
            places = 1 if learned.stderr < 0.005 else 0
            share = show_measured(100 * learned.share, 100 * learned.stderr, most_places=places)
            st.markdown(
                f"learned **{share} %**",
                width="content",
                help=(
                    "Of what can be learned: (uniform − loss) / (uniform − floor), where the "
                    "floor is the Bayes loss, the least any predictor can expect; "
                    f"{OVER_TEST_SEQUENCES}: {OF_OTHER_SEEDS}. An estimated floor adds its own "
                    "error. A uniform guess has learned 0 %, the optimum 100 %."
                ),
            )


def draw_figures(snapshot: Snapshot, test: Evaluation) -> None:
    """Draw accuracy and loss of one test, and the size of the model, each with its error."""
    experiment = snapshot.experiment
    # A run that a script saved need not have been tested at its start.
    training, first = experiment.training, dict(snapshot.history.tests).get(0)
    vocab = experiment.generator.vocabulary.size
    best = figure(optimum, experiment.generator, experiment.length)
    rungs = figure(ladder, experiment.generator, experiment.length)
    with st.container(horizontal=True, gap="medium", key="figures"):
        st.metric(
            "test accuracy",
            show_measured(test.accuracy, test.accuracy_stderr),
            width="content",
            help=(
                f"Share of {training.test_size:,} test sequences whose observed next token is "
                f"the predicted one, the most probable under the model; {OVER_TEST_SEQUENCES}."
            ),
        )
        if best is not None:
            final = best.final
            estimate = show_measured(final.accuracy, final.accuracy_stderr)
            st.metric(
                "ceiling",
                f"{final.accuracy:.3f}" if final.exact else estimate,
                width="content",
                help="Bayes accuracy, that of the best possible prediction from the visible "
                f"{snapshot.experiment.generator.position_word}s: "
                + ("exact." if final.exact else "estimated, ± one standard error."),
            )
        if rungs is not None:
            unigram = next(rung for rung in rungs if rung.name == "unigram").best
            st.metric(
                "majority class",
                f"{unigram.accuracy:.3f}"
                if unigram.exact
                else show_measured(unigram.accuracy, unigram.accuracy_stderr),
                width="content",
                help="Accuracy of always predicting the most common token: "
                + ("exact." if unigram.exact else "estimated, ± one standard error."),
            )
        st.metric(
            "test loss (nats)",
            show_measured(test.nll, test.nll_stderr),
            width="content",
            help=f"Mean of -log p(observed next "
            f"{snapshot.experiment.generator.position_word}); {OVER_TEST_SEQUENCES}.",
        )
        if first is not None:
            st.metric(
                "test loss at step 0",
                show_measured(first.nll, first.nll_stderr),
                width="content",
                help="The same seed always starts from the same weights, and so from this.",
            )
        st.metric(
            "parameters",
            f"{snapshot.parameters:,}",
            width="content",
            help="Number of trained parameters.",
        )
    st.caption(f"{OVER_TEST_SEQUENCES}; {OF_OTHER_SEEDS}.")
    # Nothing has diverged that was not trained, yet or at all, however large its loss.
    trained = first is not None and not experiment.tests_more_than_trained
    if trained and test.nll > max(first.nll, np.log(vocab)) * _DIVERGED:
        draw_warning(
            f"The loss is far above where it began: the run diverges. Lower the learning rate, "
            f"which is {training.learning_rate:g}, and reset.",
            icon=":material/trending_up:",
        )


# There is one line for them.
_MOST_NAMED = 3


def draw_prospect(form: Experiment | OptionError, whose: str) -> None:
    """Draw what the settings can reach at best and which of them prevent it, on one line.

    `whose` distinguishes the settings from those of the run, if they differ.
    """
    if isinstance(form, OptionError):
        return
    verdict = figure(feasibility, form)
    with st.container(key="verdict", width="content"):
        if verdict is None:
            st.caption(":material/hourglass_top: Computing what can be learned …")
            return
        days = f"{form.length} {form.generator.position_word}s"
        best = f"Best possible from {days}: {accuracy_text(verdict.best)}"
        parts = [f":orange-badge[{whose}]"] if whose else []
        # Not a caption, in which badges are too pale to read.
        parts.append(f":small[:gray[{best}]]")
        if controls := dict.fromkeys(_control(form, finding) for finding in _findings(verdict)):
            named = ", ".join(list(controls)[:_MOST_NAMED]) + " …" * (len(controls) > _MOST_NAMED)
            parts.append(f":orange-badge[:material/report: {named}: see below]")
        st.markdown(" ".join(parts))


def draw_findings(form: Experiment | OptionError) -> None:
    """Draw the problems of the settings, each with the control that it is about."""
    verdict = None if isinstance(form, OptionError) else figure(feasibility, form)
    if verdict is None:
        return
    findings = [f"{_control(form, finding)}: {finding.text}" for finding in _findings(verdict)]
    if findings:
        with st.container(key="findings"):
            draw_warning("About these settings:", *findings, icon=":material/report:")


def _findings(verdict: Verdict) -> list[Finding]:
    findings = list(verdict.findings)
    if verdict.reachable is not None and verdict.reachable.nll > verdict.best.nll + 1e-3:
        words = (
            "With these settings no loss is below that of a predictor with "
            f"{accuracy_and_loss_text(verdict.reachable)}."
        )
        findings.append(Finding("model", words))
    return findings


def _control(form: Experiment, finding: Finding) -> str:
    """What the control is called on screen."""
    for part in (form, form.model, form.training):
        if (spec := options_of(part).get(finding.option)) is not None:
            return label_of(finding.option, spec, unit=False)
    raise ValueError(f"no control of {finding.option!r}")


_ROWS = 6
_DAYS = 10
_LIKELIEST_DAYS = 4
_LIKELIEST = 5
# As wide a beam as there are tokens to the power of the days but one misses nothing.
_WIDEST_BEAM = 1_000


def draw_sequences(run: LiveRun) -> None:
    """Draw how the process and the model continue some sequences.

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
        st.caption(
            f"Each row starts from the same visible {snapshot.experiment.generator.position_word}s "
            f"and continues for {_DAYS} more, drawn from the process and from the model of step "
            f"{int(stored.state.step):,}."
        )
        _draw_likeliest(snapshot.experiment, model, snapshot.probes[0])


def _side_by_side(
    experiment: Experiment, model: AbstractModel, probes: np.ndarray, temperature: float
) -> str:
    def render(days: np.ndarray) -> str:
        return as_text(experiment.generator.vocabulary.render(days))

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
