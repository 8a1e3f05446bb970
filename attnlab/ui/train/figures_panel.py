"""The figures of a run: what was learned, next to what could be."""

import numpy as np
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.optimum import ladder, optimum
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.shares import learned_share
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.core.process_figures import answer_or_none
from attnlab.ui.core.uncertainty import OF_OTHER_SEEDS, OVER_TEST_SEQUENCES

# A loss this many times that of the start, or of a uniform guess, is no noise.
_DIVERGED = 1.5
# As far above a uniform guess as the floor is below it: a percentage would say no more than this.
_HOPELESS = -1.0


def draw_headline(snapshot: Snapshot, test: Evaluation, whose: str) -> None:
    """How much of what can be learned is learned at one test; `whose` names the run, if it must."""
    experiment = snapshot.experiment
    best = answer_or_none(optimum, experiment.generator, experiment.length)
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
    """Accuracy and loss of one test of a run, and the size of its model, each with its error."""
    experiment = snapshot.experiment
    # A run that a script saved need not have been tested at its start.
    training, first = experiment.training, dict(snapshot.history.tests).get(0)
    vocab = experiment.generator.vocabulary.size
    best = answer_or_none(optimum, experiment.generator, experiment.length)
    rungs = answer_or_none(ladder, experiment.generator, experiment.length)
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
