"""One token of a sequence: where each head looks from there, shown on the text, and why."""

import html
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from attnlab.charts import Matrix, matrix_chart
from attnlab.configuration.number_text import show_measured, show_percent
from attnlab.film.sequence import true_sources_of
from attnlab.inspection import HeadScore, References, path_cuts, role_of
from attnlab.models import AbstractModel
from attnlab.models.composition import INPUTS, score_parts
from attnlab.models.inside import trace_of
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import on_dark
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.in_context.heads_panel import head_title
from attnlab.ui.in_context.measures import Course, Measured

# More strips would not fit on the screen; then one layer is shown.
_MOST_HEADS = 8
# A share above which the letters have the colour of the page.
_STRONG = 0.75
# Height in pixels of the choice of more tokens than these.
_MOST_PILLS, _PILLS_HEIGHT = 40, 180
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@panel("Where does each head look from one token?", key="head_text", icon="text_fields")
def draw_text(
    experiment: Experiment,
    model: AbstractModel,
    measured: Measured,
    course: Course,
    tokens: np.ndarray,
    references: References | None,
) -> None:
    """Draw the sequence once for each head, shaded by its attention from the chosen token.

    With `references`, the effect of each path into a head is measured on their sequences.
    """
    word, vocabulary = experiment.generator.position_word, experiment.generator.vocabulary
    symbols = [vocabulary.symbols[token] for token in tokens]
    # Many tokens scroll, so that the strips below stay near.
    with st.container(height=_PILLS_HEIGHT if len(tokens) > _MOST_PILLS else "content"):
        query = st.pills(
            f"Choose a {word}",
            range(len(tokens)),
            default=len(tokens) - 1,
            required=True,
            # Equal labels would be one option.
            format_func=lambda at: f"{as_text(symbols[at])}{str(at + 1).translate(_SUBSCRIPTS)}",
            key=f"text_query_{len(tokens)}",
        )
    sources = true_sources_of(experiment, tokens)
    marked = () if sources is None else np.flatnonzero(sources[query]).tolist()
    trace = trace_of(model, tokens)
    patterns = [each.pattern for each in trace.attention if each.kind == "self"]
    for score, before in _shown_heads(measured.heads, course.results[0].heads):
        shares = patterns[score.layer - 1][score.head - 1, query]
        name = f"{head_title(score)} {role_of(score, before)}".rstrip()
        st.html(strip_html(name, symbols, shares, query, marked, word, dark=on_dark()))
    st.caption(
        f"Shading: share of attention from the framed {word}. Underlined: the true sources of the "
        f"next {word}."
    )
    score = _draw_composition(model, measured.heads, patterns, tokens, symbols, query)
    if references is not None and score.layer > 1:
        _draw_path_cuts(references, model, score)


def _draw_composition(
    model: AbstractModel,
    heads: Sequence[HeadScore],
    patterns: Sequence[Float[np.ndarray, "heads query key"]],
    tokens: np.ndarray,
    symbols: Sequence[str],
    query: int,
) -> HeadScore:
    """Draw the parts of the score of one head between the query and a key; return the head."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # The last head is in the last layer, whose input has the most parts.
        score = heads[
            st.selectbox(
                "explain the score of head",
                range(len(heads)),
                len(heads) - 1,
                format_func=lambda at: head_title(heads[at]),
                key=f"composition_head_{len(heads)}",
                width=190,
            )
        ]
        layer, head = score.layer - 1, score.head - 1
        strongest = int(patterns[layer][head, query].argmax())
        key = st.selectbox(
            "for key",
            range(query + 1),
            strongest,
            format_func=lambda at: f"{symbols[at]} {at + 1}",
            key=f"composition_key_{layer}_{head}_{query}_{strongest}",
            width=120,
        )
    with st.spinner("Computing the parts of the score …"):
        found = score_parts(model, tokens, layer=layer, head=head, query=query, key=key)
    if found is None:
        st.caption("The attention score of this model cannot be split into parts.")
        return score
    names = _short(found.query), _short(found.key)
    total = found.scores.sum() + found.bias
    draw_chart(
        matrix_chart(
            Matrix("parts", found.scores, "part of the query", "part of the key"),
            names=names,
            meaning="part of the score",
        ),
        name="Parts of a score",
        alt=f"Score of {head_title(score)} in its parts, which sum to {total:.2f}.",
    )
    position = f", of which the positional encoding adds {found.bias:.2f}" if found.bias else ""
    st.caption(
        f"The parts sum to the score before the softmax, {total:.2f}{position}.",
        help="The sum is exact. Normalisation divides all parts at a position by one number, which "
        "depends on all of them.",
    )
    return score


def _draw_path_cuts(references: References, model: AbstractModel, score: HeadScore) -> None:
    """Draw a table of the effects of each path from the layer below into one head."""
    place = score.layer - 1, score.head - 1
    with st.spinner("Cutting each path …"):
        found = kept_result(
            "path_cuts",
            model,
            place,
            lambda: path_cuts(references, model, layer=place[0], head=place[1]),
        )
    if found is None:
        return
    rows: dict[str, dict[str, str]] = {}
    for cut in found:
        change = show_measured(*cut.change) if cut.change.stderr else "unchanged"
        rows.setdefault(f"without L{place[0]} H{cut.writer + 1}", {})[cut.into] = change
    st.markdown(f"**Composition: what {head_title(score)} reads from layer {place[0]}**")
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(INPUTS))
    st.table(table.rename_axis("model"))
    st.caption(
        f"Change of the expected loss (nats) if the query, key or value of {head_title(score)} "
        "does not read that head, ± one standard error.",
        help="Path patching: this input is computed from the residual stream minus the output of "
        "the head below. All other parts of the model read the whole residual stream.",
    )


def _short(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.replace("layer ", "L").replace(", head ", " H") for part in parts)


def _shown_heads(
    scores: Sequence[HeadScore], before: Sequence[HeadScore]
) -> list[tuple[HeadScore, HeadScore]]:
    heads = list(zip(scores, before, strict=True))
    if len(heads) <= _MOST_HEADS:
        return heads
    layers = range(1, scores[-1].layer + 1)
    layer = st.segmented_control(
        "layer", layers, default=layers[-1], required=True, key=f"text_layer_{len(layers)}"
    )
    return [pair for pair in heads if pair[0].layer == layer]


def strip_html(
    name: str,
    symbols: Sequence[str],
    shares: Float[np.ndarray, " length"],
    query: int,
    sources: Collection[int],
    word: str,
    *,
    dark: bool,
) -> str:
    """Return the sequence as HTML, shaded by `shares`, with a text alternative."""
    cells = []
    for at, (symbol, share) in enumerate(zip(symbols, shares.tolist(), strict=True)):
        kinds = {
            "source": at in sources,
            "query": at == query,
            "unseen": at > query,
            "strong": share > _STRONG,
        }
        kind = " ".join(name for name, holds in kinds.items() if holds)
        cells.append(
            f'<span class="{kind}" style="--share: {100 * share:.1f}%" '
            f'title="{at + 1}: {show_percent(share)}">{html.escape(symbol)}</span>'
        )
    most = int(shares.argmax())
    words = f"{name}: {show_percent(shares[most])} of the attention on {word} {most + 1}."
    return (
        f'<div class="attnlab-text {"on-dark" if dark else ""}">'
        f'<div class="name">{html.escape(name)}</div>'
        f'<div class="tokens" role="img" aria-label="{html.escape(words, quote=True)}">'
        f"{''.join(cells)}</div></div>"
    )
