"""Steering on the Beliefs page: put another belief into the model, and see what it predicts."""

import numpy as np
import streamlit as st

from attnlab.charts import PICK, next_day_chart, next_day_table
from attnlab.configuration.number_text import show_estimate, show_percent
from attnlab.inspection import steer
from attnlab.inspection.belief_gap import divergence, next_probs_of
from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe, past_numbers
from attnlab.models import AbstractModel
from attnlab.optimum.sequences import mean_and_error
from attnlab.training.experiment import Experiment
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result

BELIEF_CHART = "belief_points"
# Number of different pasts whose beliefs users can hover over and select.
_MOST_PASTS = 1_000
# With two or three states, users can also select beliefs on a grid with this many steps.
_PARTS = 30
_CHART_HEIGHT = 220


def chosen_belief(count: int) -> int:
    """Return the index of the selected point, or 0 without a selection among `count` points."""
    state = st.session_state.get(BELIEF_CHART)
    points = state["selection"].get(PICK, []) if state else []
    number = int(points[0]["number"]) if points else 0
    # Another position may have fewer points.
    return number if number < count else 0


def distinct_pasts(setup: ProbeSetup, at: slice) -> tuple[list[tuple[int, ...]], np.ndarray, int]:
    """Return different pasts of the test sequences, their targets, and the number of all pasts."""
    sequences, targets = setup.test.sequences, setup.targets[1]
    numbers, ends = past_numbers(sequences), range(sequences.shape[1])[at]
    found = [(row, end) for end in ends for row in np.unique(numbers[end], return_index=True)[1]]
    shown = sorted(found)[:_MOST_PASTS]
    pasts = [tuple(sequences[row, : end + 1].tolist()) for row, end in shown]
    return pasts, np.stack([targets[place] for place in shown]), len(found)


def grid_of_beliefs(states: int) -> np.ndarray:
    """Return evenly spaced beliefs over two or three states; none over more states.

    With more states, a point of the chart is not a single belief.
    """
    if states > 3:
        return np.zeros((0, states))
    counts = np.indices((_PARTS + 1,) * states).reshape(states, -1).T
    return counts[counts.sum(axis=1) == _PARTS] / _PARTS


def draw_steering(
    experiment: Experiment,
    model: AbstractModel,
    setup: ProbeSetup,
    chosen: SiteProbe,
    beliefs: np.ndarray,
    on_grid: int,
) -> None:
    """Draw what the model predicts with the picked belief in its activation.

    The first `on_grid` beliefs form a grid, the others follow from sequences.
    """
    process, tokens = experiment.generator, setup.test.sequences[0]
    found = kept_result(
        "steered",
        model,
        (experiment, chosen.site, beliefs.tobytes()),
        lambda: steer(model, chosen.trained.probe, chosen.site, tokens, beliefs),
    )
    injected = next_probs_of(process, beliefs)
    of_tokens = np.broadcast_to(setup.test.next_probs[0, -1], injected.shape)
    number = chosen_belief(len(beliefs))
    st.header("Steering", anchor=False)
    st.markdown(
        f"The model has read {process.vocabulary.shorten(tokens)}. Click or drag in the chart of "
        "exact beliefs. That belief replaces the one in the activation at the last token."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        symbols = process.vocabulary.symbols
        shown = {
            "chosen belief": injected[number],
            "exact belief": of_tokens[number],
            "model": found.probs[number],
        }
        says = "; ".join(
            f"{name}: {', '.join(map('{} {}'.format, symbols, map(show_percent, probs)))}"
            for name, probs in shown.items()
        )
        draw_chart(
            next_day_chart(
                next_day_table(shown, process.vocabulary),
                symbols=symbols,
                names=tuple(shown),
                word=process.position_word,
                height=_CHART_HEIGHT,
            ),
            name="Steered prediction",
            alt="The next token by the chosen and the exact belief, and by the model after "
            f"steering. {says}.",
        )
    with right:
        predictions = {
            "after steering": found.probs,
            "after a random move of the same length": found.control,
            "without steering": np.broadcast_to(found.plain, injected.shape),
        }
        grid = ", and over evenly spaced beliefs" * (on_grid > 0)
        st.markdown(
            f"The table shows the {link_to('KL divergence')} (nats) between the exact prediction "
            "of a belief and the model's. Steering should make it small for the chosen belief. "
            "Means ± one standard error over the beliefs after "
            f"{len(beliefs) - on_grid:,} sequences{grid}."
        )
        parts = {"": slice(on_grid, None), ", evenly spaced": slice(on_grid)}
        # Without digits by which equal values would have an error.
        apart = {
            f"{name}{where}": [
                show_estimate(
                    *np.round(mean_and_error(divergence(exact, each)[at]), 9), most_places=4
                )
                for each in predictions.values()
            ]
            for where, at in parts.items()
            if len(beliefs[at])
            for name, exact in (("to chosen belief", injected), ("to exact belief", of_tokens))
        }
        st.table({"prediction": list(predictions)} | apart)
