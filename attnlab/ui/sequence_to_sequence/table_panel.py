"""The table of sources, with the targets that the model writes, one token at a time."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, is_task, write_source
from attnlab.inspection.decoding import BEAM, DRAWN, GREEDY, Written, write_all, written
from attnlab.models import AbstractModel
from attnlab.models.generation import Beam
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import kept_result
from attnlab.ui.sequence_to_sequence.cards import Hand, draw_hands, draw_next
from attnlab.ui.sequence_to_sequence.hands import draw_hand_editor, hands_of, heed_changes
from attnlab.ui.train.bench import Bench
from attnlab.ui.train.cursor import draw_play_button, shown_moment, with_starting_point

# While the animation plays, `_PLAYED` has the number of tokens, and the slider follows it: the
# browser reports a moving slider's position too late.
_LAID, _PLAYED = "table_laid", "table_played"
# Seconds between two tokens of the animation.
_SECONDS = 0.7
_WIDTH = 5
_TRUEST = "best aligned head"


def is_playing() -> bool:
    """Return whether the animation, which writes one token after another, is playing."""
    return _PLAYED in st.session_state


def stop_playing() -> None:
    """Stop the animation; the tokens written so far stay on the table."""
    st.session_state.pop(_PLAYED, None)


def draw_player(count: int) -> int:
    """Draw Play or Stop, and the slider; return how many of `count` tokens are shown.

    While the animation plays, each rerun shows one more token.
    """
    key = f"{_LAID}_{count}"
    if is_playing():
        played = st.session_state[_PLAYED] = st.session_state[_PLAYED] + 1
        st.session_state[key] = min(played, count)
        # One rerun later than the last token, when the browser has reported the slider's end.
        if played > count:
            del st.session_state[_PLAYED]
    draw_play_button(
        "Play",
        key="table",
        playing=is_playing(),
        begin=partial(_begin, key, count),
        stop=stop_playing,
    )
    return st.slider(
        "written so far",
        0,
        count,
        count,
        key=key,
        persist_state="session",
        disabled=is_playing(),
        width=185,
        help="Use the arrow keys to move one step, or press Play.",
    )


def _begin(key: str, count: int) -> None:
    if not is_playing():
        at = st.session_state.get(key, count)
        st.session_state[_PLAYED] = 0 if at >= count else at


def draw_table(bench: Bench) -> None:
    """Draw the table and its controls; redraw them during training and during the animation."""
    draw_while(
        lambda: bench.run.snapshot().active or is_playing(),
        lambda: _draw(bench.run.snapshot()),
        key="table",
        seconds=_SECONDS,
    )


def _draw(snapshot: Snapshot) -> None:
    heed_changes()
    task = snapshot.experiment.generator
    if not is_task(task):
        stop_playing()
        st.caption(
            "The current run is not on a sequence-to-sequence task. Press **Start** to train on "
            "the task that the controls describe."
        )
        return
    with st.spinner("Building the untrained model …"):
        snapshot = with_starting_point(snapshot)
    if snapshot.latest is None:
        st.caption(":material/hourglass_top: Preparing the run …")
        return
    moment = shown_moment(snapshot)
    model, said = moment.model, st.empty()
    hands, count = hands_of(task, present(snapshot.probes)), task.prompt_length()
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="small", key="table_controls"
    ):
        laid = draw_player(count)
        way, temperature, unused = _draw_way(task)
        place = st.selectbox(
            "hand number" if task.source_name == "hand" else "source number",
            range(len(hands)),
            format_func=lambda place: str(place + 1),
            key="table_hand",
            persist_state="session",
            width=110,
        )
        lit = st.container(width="content")
    targets, beams, found = _written(
        model, hands, count=count, way=way, temperature=temperature, unused=unused,
        seed=snapshot.experiment.seed,
    )  # fmt: skip
    rights = np.stack([np.asarray(task.target_of(jnp.asarray(hand))) for hand in hands])
    with lit:
        attention = _draw_lit(task, hands, found.attention)
    symbols = task.vocabulary.symbols
    shown = [
        Hand(
            [symbols[token] for token in hand],
            [symbols[token] for token in target[:laid]],
            [symbols[token] for token in right],
            None if attention is None or not laid else attention[number, laid - 1],
            task.vocabulary.render(hand) + " → " + task.vocabulary.render(target[:laid]),
        )
        for number, (hand, target, right) in enumerate(zip(hands, targets, rights, strict=True))
    ]
    draw_hands(shown, chosen=place)
    right = int((targets[:, :laid] == rights[:, :laid]).all(axis=1).sum())
    so_far = " so far" * (laid < targets.shape[1])
    result = f": {right} of {len(hands)} {task.source_name}s correct{so_far}" if laid else ""
    said.markdown(_state_in_words(snapshot, moment.model_step, result))
    _draw_caption(task, attention is not None)
    left, right = st.columns(2, gap="large")
    with left:
        draw_hand_editor(task, hands[place], place, snapshot.experiment.seed)
    with right:
        draw_next(
            task, hands[place], targets[place], found.probs[place], laid, is_heated=way == DRAWN
        )
        if way == BEAM:
            _draw_beam(task, Beam(beams.continuations[place], beams.log_probs[place]))


def _draw_way(task: AbstractTask) -> tuple[str, float, bool]:
    """Draw controls for decoding; return the method, temperature, and whether to avoid repeats."""
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
    return way, temperature, unused


def _draw_lit(task: AbstractTask, hands: np.ndarray, attention: np.ndarray) -> np.ndarray | None:
    """Draw the choice of layer and head; return its attention, or None without attention.

    `attention` has the axes (hand, layer, head, target, source).
    """
    _, layers, heads, *_ = attention.shape
    if not layers:
        return None
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    chosen = (0, 0)
    if len(places) > 1:
        chosen = st.selectbox(
            "attention of",
            [_TRUEST, *places],
            format_func=lambda each: each if each == _TRUEST else f"L{each[0] + 1} H{each[1] + 1}",
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


def _written(
    model: AbstractModel,
    hands: np.ndarray,
    *,
    count: int,
    way: str,
    temperature: float,
    unused: bool,
    seed: int,
) -> tuple[np.ndarray, Beam, Written]:
    """Return the targets, all results of the beam search, and the model's probabilities.

    The last result is cached, since nothing changes during the animation.
    """

    def make() -> tuple[np.ndarray, Beam, Written]:
        how = {"way": way, "unused": unused, "count": count}
        if way == DRAWN:
            how |= {"temperature": temperature, "key": jr.key(seed)}
        beams = write_all(model, jnp.asarray(hands), width=_WIDTH, **how)
        targets = beams.continuations[:, 0]
        found = written(model, jnp.asarray(hands), targets, unused=unused)
        return np.asarray(targets), *(jax.tree.map(np.asarray, each) for each in (beams, found))

    given = (hands.tobytes(), count, way, temperature, unused, seed)
    return kept_result("table_written", model, given, make)


def _state_in_words(snapshot: Snapshot, step: int, result: str) -> str:
    """Return which model the table shows, and its result."""
    if step:
        return f"**Step {step:,}{result}.**"
    hint = " Press **Start** to train it." if snapshot.state == "idle" else ""
    return f"**Untrained model{result}.**{hint}"


def _draw_caption(task: AbstractTask, has_attention: bool) -> None:
    bars = (
        f"A bar shows how much the model attends to a {task.token_name} (%) while it writes the "
        "newest one. "
        if has_attention
        else "This model has no attention to show. "
    )
    st.caption(f"{bars}A wrong {task.token_name} is crossed out, with the correct one below it.")


def _draw_beam(task: AbstractTask, beam: Beam) -> None:
    lines = [f"| the {_WIDTH} best found by beam search | log p (nats) |", "|---|---|"]
    for tokens, log_prob in zip(beam.continuations, beam.log_probs, strict=True):
        if np.isfinite(log_prob):
            number = f"{log_prob:.2f}".replace("-", "−")
            lines.append(f"| {as_text(write_source(task, tokens))} | {number} |")
    st.markdown("\n".join(lines))
