"""The loss by position on sequences longer than those of the training."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Scale, Series, level_table, lines_chart, series_table
from attnlab.comparisons.uncertainty import OVER_TEST_SEQUENCES, above_uniform_text
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import OptionError, options_of, present
from attnlab.inspection import LossAtLength, check_length, loss_at_length
from attnlab.inspection.lengths import MOST_TIMES
from attnlab.live.jobs import JobState
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, forget_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits

_WORK = "lengths"
_HEIGHT = 300


def draw_lengths(experiment: Experiment, model: AbstractModel, test: np.ndarray) -> None:
    """Draw the test of a model on longer sequences, or why it cannot be tested on them."""
    with st.expander("Does length matter?", key="lengths_panel", icon=":material/straighten:"):
        trained, word = experiment.length, experiment.generator.position_word
        st.markdown(
            f"The model was trained on {trained} {word}s. Test it on longer sequences, without "
            "training it again."
        )
        bound = int(present(options_of(Experiment)["length"].high))
        longest = min(MOST_TIMES * trained, limits().caps.get("length", bound), bound)
        try:
            check_length(experiment, max(longest, trained + 1))
        except OptionError as error:
            st.caption(str(error))
            return
        if longest <= trained:
            st.caption(f"Longer sequences are not allowed here: the limit is {longest} {word}s.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            length = st.segmented_control(
                f"{word}s",
                sorted({min(times * trained, longest) for times in (2, MOST_TIMES)}),
                default=longest,
                required=True,
                key=f"tested_length_{trained}",
            )
            # Keep the model, not its id: Python may reuse the id of a deleted object.
            job = job_of(_WORK)
            if job and (job.of[0] is not model or job.of[1] != length):
                forget_job(_WORK)
            make = partial(_results, experiment, model, test, (trained, length))
            draw_job_buttons(_WORK, "Test", partial(start_job, _WORK, make, of=(model, length)))
        draw_job(
            _WORK,
            partial(_draw, experiment=experiment),
            failed="The test",
            progress=lambda found: (len(found or ()) / 2, ""),
        )


def _results(
    experiment: Experiment, model: AbstractModel, test: np.ndarray, lengths: Sequence[int]
) -> Iterator[tuple[LossAtLength, ...]]:
    """Yield all results so far after each test."""
    found = ()
    for length in lengths:
        found += (loss_at_length(experiment, model, test, length),)
        yield found


def _draw(state: JobState | None, *, experiment: Experiment) -> None:
    if state is None or len(state.latest or ()) < 2:
        return
    own, found = state.latest
    loss, places = found.loss, np.array(found.loss.positions) + 1
    word, vocab = experiment.generator.position_word, experiment.generator.vocabulary.size
    best_words = experiment.generator.best_words
    exact = "exact prediction" if experiment.generator.has_law else best_words.floor
    levels = {
        best_words.floor: np.array([best.nll for best in found.floor]),
        "uniform guess": float(np.log(vocab)),
    }
    words = (
        f"{show_measured(*own.excess, most_places=4)} nats above the {exact} up to "
        f"{word} {experiment.length + 1}, {show_measured(*found.excess, most_places=4)} after it"
    )
    with st.container(key="chart_lengths"):
        draw_chart(
            lines_chart(
                series_table("model", places, loss.nll, loss.nll_stderr),
                level_table(levels, places),
                pd.DataFrame({"at": [experiment.length + 1], "name": ["trained length"]}),
                x=Scale(f"{word} predicted", ",d", ",d", zero=False),
                y=Scale("loss (nats)", ".4f", zero=False),
                series=(Series("model"),),
                look="band",
                below=True,
                height=_HEIGHT,
            ),
            name="Loss on longer sequences",
            alt=f"Loss at {len(places)} {word}s of longer sequences. The model is {words}.",
        )
    remark = above_uniform_text(zip(loss.nll, loss.nll_stderr, strict=True), vocab)
    st.caption(
        f"**The model is {words}.** Band: {OVER_TEST_SEQUENCES}. {remark}",
        help=f"{found.sequences:,} sequences of {found.length} visible {word}s. The vertical "
        f"line marks the last {word} predicted in training."
        + f" The {best_words.floor} is estimated."
        * (not all(best.exact for best in found.floor)),
    )
