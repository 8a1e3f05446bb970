"""What the final prediction attends to, depends on, and should depend on."""

import itertools

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float, Int

from attnlab import charts
from attnlab.configuration.number_text import show_percent, show_positions
from attnlab.generators import NO_LAW
from attnlab.inspection import Comparison, final_probs, surprise
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import map_name
from attnlab.optimum import Dependence, informative_positions, next_token
from attnlab.training.experiment import Experiment
from attnlab.ui.core.figures import waiting
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.inspect.view import View, known_truth, sequence_comparison

# With more heads, only the chosen one is shown; all rows would not fit on the screen.
_MOST_HEADS = 8
# A share of the attention or of the dependence that counts.
_MUCH = 0.1
_FRAME_HEIGHT, _ROW_HEIGHT, _LEAST_HEIGHT = 104, 32, 220


def _draw_account(
    experiment: Experiment, found: Comparison, true: Dependence | None, view: View
) -> None:
    """Draw the share of the predicting query's attention on the positions that matter."""
    if true is None:
        st.caption(f"{NO_LAW}.")
        return
    informative = informative_positions(true)
    if not found.attention or not informative.any():
        return
    attention, attends = view.of(found.attention)
    places = show_positions(np.flatnonzero(informative) + 1)
    heads = len(attention.pattern)
    whose = "the model" if heads == 1 else f"head {min(view.choice.heads[0], heads - 1) + 1}"
    if len(found.attention) > 1:
        whose += f" in layer {map_name(attention)}"
    share = show_percent(attends[-1][informative].sum())
    by_chance = show_percent(evenly(np.asarray(attention.mask[-1]), informative))
    with st.container(key="account"):
        st.markdown(
            f"In this sequence {whose} puts **{share}** of its attention on the "
            f"{experiment.generator.position_word}s that matter ({places}). A uniform pattern puts "
            f"{by_chance} there.",
            help="Share of the attention in the row that makes the prediction. The Train page "
            "shows the mean over several sequences.",
        )
        if len(moved := moved_before(found, attention)):
            word = experiment.generator.position_word + "s" * (len(moved) > 1)
            st.caption(
                f"The prediction also depends on {word} {', '.join(map(str, moved + 1))}. An "
                "earlier layer has already moved what is there to a position that this layer reads."
            )


def moved_before(found: Comparison, chosen: AttentionMap) -> Int[np.ndarray, " moved"]:
    """Return the positions that the prediction depends on, and that only earlier layers read.

    The chosen layer pays them little attention, while earlier ones attend to them from positions
    that it reads, or from the last one itself.
    """
    row = np.asarray(chosen.pattern).max(axis=0)[-1]
    reached = np.where(np.arange(len(row)) == len(row) - 1, 1.0, row)
    below = itertools.takewhile(lambda each: each is not chosen, found.attention)
    for each in reversed([each for each in below if each.kind == chosen.kind]):
        pattern = np.asarray(each.pattern).max(axis=0)
        reached = np.maximum(reached, (reached[:, None] * pattern).max(axis=0))
    depends = found.depends[-1] >= _MUCH * max(found.depends[-1].sum(), 1e-9)
    return np.flatnonzero((depends & (row < _MUCH) & (reached >= _MUCH))[:-1])


def evenly(unmasked: Bool[np.ndarray, " key"], informative: Bool[np.ndarray, " key"]) -> float:
    """Return the share of attention on `informative` keys if uniform over the unmasked keys."""
    return float((informative & unmasked).sum() / max(unmasked.sum(), 1))


def draw_final_query(
    experiment: Experiment,
    model: AbstractModel,
    tokens: np.ndarray,
    view: View,
    *,
    at_rest: bool,
) -> None:
    """Draw the rows of the final query, and how far its prediction is from the true one."""
    with waiting():
        true, marginals = known_truth(experiment)
        found = sequence_comparison(experiment, model, tokens, marginals)
        if at_rest:
            _draw_account(experiment, found, true, view)
        _draw_rows(experiment, found, tokens, view, at_rest=at_rest)
    _draw_surprise(experiment, model, tokens)


def final_rows(found: Comparison, view: View) -> dict[str, Float[np.ndarray, " day"]]:
    """Return the last row of each map by name, in the view's unit.

    Attention has one row per head of the chosen layer or, with many heads, only the chosen head's.
    """
    measured = {}
    if found.attention:
        chosen, pattern = view.of(found.attention)
        heads = chosen.pattern[:, -1]
        if len(heads) == 1:
            measured["attends"] = heads[0]
        elif len(heads) <= _MOST_HEADS:
            measured = {f"attends, head {n}": row for n, row in enumerate(heads, 1)}
        else:
            measured[f"attends, head {view.choice.heads[0] + 1}"] = pattern[-1]
    measured["depends"] = found.depends[-1]
    if found.truth is not None:
        measured[charts.TRUTH] = found.truth[-1]
    return {name: view.values(np.asarray(row, float)[None])[0] for name, row in measured.items()}


def _draw_rows(
    experiment: Experiment, found: Comparison, tokens: np.ndarray, view: View, *, at_rest: bool
) -> None:
    rows, word = final_rows(found, view), experiment.generator.position_word
    symbols = experiment.generator.vocabulary.symbols
    name = f"The prediction of the next {word}"
    alt = f"{name}: {', '.join(rows)}, by {word}."
    if at_rest:
        most = (f"{row}: {word} {v.argmax() + 1}, {v.max():.2f}" for row, v in rows.items())
        alt = f"{name}. Largest value of each row: {'; '.join(most)}."
    with st.container(key="chart_final_query"):
        draw_chart(
            charts.final_query_chart(
                rows,
                symbols=tuple(symbols[token] for token in tokens),
                most=charts.top_of_scale(*rows.values()),
                title=view.unit,
                word=word,
                height=max(_LEAST_HEIGHT, _FRAME_HEIGHT + _ROW_HEIGHT * len(rows)),
            ),
            name=name,
            alt=alt,
        )


def _draw_surprise(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    """Draw the expected loss of the shown prediction, or why the sequence is impossible."""
    learned = final_probs(model, tokens[None], experiment.training.readout)[0]
    try:
        true = next_token(experiment.generator, tokens.tolist())
    except ValueError as error:
        draw_error(f"{error} The model predicts:", icon=":material/block:")
        rows = zip(experiment.generator.vocabulary.symbols, learned, strict=True)
        shares = (f"{as_text(symbol)} {probability:.3f}" for symbol, probability in rows)
        st.markdown(" · ".join(shares))
        return
    if not experiment.generator.has_law:
        st.caption("The best reference is fitted to the training blocks. The model may be better.")
        return
    parts = surprise(true, learned)
    with st.container(key="surprise"):
        st.caption(
            f"Of the expected loss after this sequence, {parts.unavoidable:.3f} "
            f"{link_to('nat', 'nats')} are unavoidable (the {link_to('entropy')} of the true "
            f"distribution) and {parts.error:.3f} nats are the model's error "
            f"({link_to('KL divergence', 'KL')}(true ‖ model))."
        )
