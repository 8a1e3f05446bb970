"""The table of sources, with the targets that the model writes, one token at a time."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task, is_task, write_source
from attnlab.inspection import decoding
from attnlab.inspection.decoding import BEAM, DRAWN, GREEDY, Written, write_all
from attnlab.models import AbstractModel
from attnlab.models.generation import Beam
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import kept_result, session
from attnlab.ui.sequence_to_sequence.cards import Hand, draw_hands, draw_next
from attnlab.ui.sequence_to_sequence.hands import draw_hand_editor, hands_of, heed_changes
from attnlab.ui.train.cursor import OVER_TRAINING, shown_moment, with_starting_point
from attnlab.ui.train.training_page import Bench

# While the animation plays, `_PLAYED` has the number of tokens, and the slider follows it: the
# browser reports a moving slider's position too late.
_LAID, _PLAYED = "table_laid", "table_played"
# Seconds between two tokens of the animation.
_SECONDS = 0.7
_WRITTEN, _PROBES = "table_written", "table_probes"
# Of the beam; and of the probes of a run.
_WIDTH, _HANDS = 5, 5
_TRUEST = "best aligned head"


class Decoding(NamedTuple):
    """How targets are written: the method, its temperature, and whether to avoid repeats."""

    way: str
    temperature: float
    unused: bool


def _is_playing() -> bool:
    """Return whether the animation, which writes one token after another, is playing."""
    return _PLAYED in st.session_state


def _stop_playing() -> None:
    """Stop the animation; the tokens written so far stay on the table."""
    st.session_state.pop(_PLAYED, None)


def _draw_player(count: int) -> int:
    """Draw Play or Stop, and the slider; return how many of `count` tokens are shown.

    While the animation plays, each rerun shows one more token.
    """
    key = f"{_LAID}_{count}"
    if _is_playing():
        played = st.session_state[_PLAYED] = st.session_state[_PLAYED] + 1
        st.session_state[key] = min(played, count)
        # One rerun later than the last token, when the browser has reported the slider's end.
        if played > count:
            _stop_playing()

    def begin() -> None:
        if not _is_playing():
            at = st.session_state.get(key, count)
            st.session_state[_PLAYED] = 0 if at >= count else at

    playing = _is_playing()
    # A single button: a click that the browser sends twice would start and stop the animation.
    with st.container(key="table_play", width="content"), st.empty():
        if playing:
            draw_button("Stop", "table_stop", "pause", _stop_playing, width=112)
        else:
            draw_button("Play", "table_begin", "play_arrow", begin, width=112)
    return st.slider(
        "written so far",
        0,
        count,
        count,
        key=key,
        persist_state="session",
        disabled=playing,
        width=185,
        help="Use the arrow keys to move one step, or press Play.",
    )


def draw_table(bench: Bench) -> None:
    """Draw the table of a task; redraw it during training and during the animation."""
    if not is_task(bench.run.experiment.generator):
        _stop_playing()
        return
    draw_while(
        lambda: bench.run.snapshot().active or _is_playing(),
        lambda: _draw(bench.run.snapshot()),
        key=OVER_TRAINING,
        seconds=_SECONDS,
    )


def _draw(snapshot: Snapshot) -> None:
    heed_changes()
    task = as_task(snapshot.experiment.generator)
    with st.spinner("Building the untrained model …"):
        snapshot = with_starting_point(snapshot)
    is_waiting = snapshot.latest is None or _WRITTEN not in session().kept
    # In each rerun `st.empty` is empty until it is filled, while a container keeps what it has.
    place = st.empty if is_waiting else st.container
    said, table = place(), place()
    if snapshot.probes is not None:
        session().kept[_PROBES] = snapshot.experiment, snapshot.probes
    if is_waiting:
        # Or as many empty cards, so that nothing moves when the hands come.
        blank = ["\N{NO-BREAK SPACE}"] * task.prompt_length()
        sources, symbols = [blank] * _HANDS, task.vocabulary.symbols
        of, probes = session().kept.get(_PROBES, (None, None))
        if of == snapshot.experiment:
            sources = [[symbols[token] for token in hand] for hand in hands_of(task, probes)]
        # Of a finished run, only the tests are still to come.
        is_ready = snapshot.latest or snapshot.step == snapshot.experiment.training.steps
        what = "The model is ready" if is_ready else f"Now {snapshot.message or 'compiling'}"
        words = f"{what}. What it writes appears here in seconds."
        said.caption(f":material/hourglass_top: {words}")
        with table:
            draw_hands([Hand(each, [], blank, None, words) for each in sources], chosen=-1)
    if snapshot.latest is None:
        return
    moment = shown_moment(snapshot)
    model = moment.model
    hands, count = hands_of(task, present(snapshot.probes)), task.prompt_length()
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="small", key="table_controls"
    ):
        laid = _draw_player(count)
        how = _draw_decoding(task)
        place = st.selectbox(
            "hand number" if task.source_name == "hand" else "source number",
            range(len(hands)),
            format_func=lambda place: str(place + 1),
            key="table_hand",
            persist_state="session",
            width=110,
        )
        seed = snapshot.experiment.seed
        targets, beams, found = _write_targets(model, hands, how, seed)
        with st.container(width="content"):
            attention = _draw_lit(task, hands, found.attention)
    rights = np.stack([np.asarray(task.target_of(jnp.asarray(hand))) for hand in hands])
    shown, render = [], task.vocabulary.render
    for number, (hand, target, right) in enumerate(zip(hands, targets, rights, strict=True)):
        source, written, correct = (
            [task.vocabulary.symbols[token] for token in each]
            for each in (hand, target[:laid], right)
        )
        shares = None if attention is None or not laid else attention[number, laid - 1]
        text = f"{render(hand)} → {render(target[:laid])}"
        shown.append(Hand(source, written, correct, shares, text))
    with table:
        draw_hands(shown, chosen=place)
    right = int((targets[:, :laid] == rights[:, :laid]).all(axis=1).sum())
    so_far = " so far" * (laid < targets.shape[1])
    result = f": {right} of {len(hands)} {task.source_name}s correct{so_far}" if laid else ""
    hint = " Press **Start** to train it." if snapshot.state == "idle" else ""
    if moment.model_step:
        said.markdown(f"**Step {moment.model_step:,}{result}.**")
    else:
        said.markdown(f"**Untrained model{result}.**{hint}")
    bars = "This model has no attention to show. "
    if attention is not None:
        bars = f"A bar shows how much the model attends to a {task.token_name} (%) while it "
        bars += "writes the newest one. "
    st.caption(f"{bars}A wrong {task.token_name} is crossed out, with the correct one below it.")
    left, right = st.columns(2, gap="large")
    with left:
        draw_hand_editor(task, hands[place], place, seed)
    with right:
        is_heated = how.way == DRAWN
        draw_next(task, hands[place], targets[place], found.probs[place], laid, is_heated=is_heated)
        if how.way == BEAM:
            _draw_beam(task, Beam(beams.continuations[place], beams.log_probs[place]))


def _draw_decoding(task: AbstractTask) -> Decoding:
    """Draw the controls of decoding; return their choice."""
    way = st.selectbox(
        "decoding",
        (GREEDY, DRAWN, BEAM),
        key="table_way",
        persist_state="session",
        width=130,
        help="greedy: the most probable token each time. temperature: sampled from softmax(logits "
        "/ temperature). beam: the most probable whole target found by beam search of width "
        f"{_WIDTH}.",
    )
    temperature = 1.0
    if way == DRAWN:
        temperature = st.slider(
            "temperature", 0.1, 2.0, 1.0, 0.1, key="table_temperature", persist_state="session",
            width=120,
        )  # fmt: skip
    unused = not task.may_repeat and st.toggle(
        f"unused {task.token_name}s only",
        key="table_unused",
        persist_state="session",
        help=f"Excludes what is already written, so no {task.token_name} occurs twice.",
    )
    return Decoding(way, temperature, unused)


def _draw_lit(task: AbstractTask, hands: np.ndarray, attention: np.ndarray) -> np.ndarray | None:
    """Draw the choice of layer and head; return its attention, or None without attention.

    `attention` has the axes (hand, layer, head, target, source).
    """
    _, layers, heads, *_ = attention.shape
    if not layers:
        return None
    all_heads = ((layer, head) for layer in range(layers) for head in range(heads))
    places = {each: f"source L{each[0] + 1} H{each[1] + 1}" for each in all_heads}
    chosen = (0, 0)
    if len(places) > 1:
        chosen = st.selectbox(
            "attention of",
            [_TRUEST, *places],
            format_func=lambda each: places.get(each, _TRUEST),
            key=f"table_lit_{layers}_{heads}",
            persist_state="session",
            width=180,
            help=f"{_TRUEST}: the head with the most attention on the true alignment.",
        )
    if chosen == _TRUEST:
        true = np.stack([np.asarray(task.true_alignment(jnp.asarray(hand))) for hand in hands])
        on_truth = (attention * true[:, None, None]).sum(axis=(0, 3, 4))
        chosen = np.unravel_index(on_truth.argmax(), on_truth.shape)
    return attention[:, int(chosen[0]), int(chosen[1])]


def _write_targets(
    model: AbstractModel, hands: np.ndarray, how: Decoding, seed: int
) -> tuple[np.ndarray, Beam, Written]:
    """Return the targets, all results of the beam search, and the model's probabilities.

    The last result is cached, since nothing changes during the animation.
    """

    def make() -> tuple[np.ndarray, Beam, Written]:
        options = {"way": how.way, "unused": how.unused, "count": hands.shape[1]}
        if how.way == DRAWN:
            options |= {"temperature": how.temperature, "key": jr.key(seed)}
        beams = write_all(model, jnp.asarray(hands), width=_WIDTH, **options)
        targets = beams.continuations[:, 0]
        found = decoding.written(model, jnp.asarray(hands), targets, unused=how.unused)
        return np.asarray(targets), *(jax.tree.map(np.asarray, each) for each in (beams, found))

    given = (hands.tobytes(), hands.shape, how, seed)
    return kept_result(_WRITTEN, model, given, make)


def _draw_beam(task: AbstractTask, beam: Beam) -> None:
    lines = [f"| the {_WIDTH} best found by beam search | log p (nats) |", "|---|---|"]
    for tokens, log_prob in zip(beam.continuations, beam.log_probs, strict=True):
        if np.isfinite(log_prob):
            number = f"{log_prob:.2f}".replace("-", "−")
            lines.append(f"| {as_text(write_source(task, tokens))} | {number} |")
    st.markdown("\n".join(lines))
