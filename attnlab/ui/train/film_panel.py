"""The film of the run on the page: drawn while it trains, and played in the browser."""

import functools
from typing import Any

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

from attnlab.configuration.options import present
from attnlab.film import (
    frame_data,
    player,
    scene_data,
    scene_of,
    shipped_film,
    shipped_films,
    some,
    test_of,
)
from attnlab.film.sequence import true_probs
from attnlab.models import AbstractModel
from attnlab.optimum import optimum, token_marginals
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.display import on_dark
from attnlab.ui.core.figures import figure
from attnlab.ui.core.outside import as_message
from attnlab.ui.core.session import session
from attnlab.ui.train.cursor import show_step, shown_step

_KEY, _STEP = "film", "step"
# The cookie of a browser that has seen a run end.
SEEN_END = "attnlab_seen_a_run_end"
_START = """
export default function({ data, parentElement, setStateValue }) {
    const root = parentElement.querySelector(".film")
    root.update ??= createFilm(root, step => setStateValue("step", step))
    root.update(data)
    if (data.cookie) document.cookie = `${data.cookie}=1; max-age=31536000; path=/; SameSite=Lax`
}"""


def film_of_page(
    snapshot: Snapshot, sequence: tuple[int, ...], informative: tuple[int, ...]
) -> dict[str, Any]:
    """Return the film of a run that has a model, without its loss chart.

    It has all frames that fit or, while the run trains, the newest one.

    Args:
        snapshot: The state of the run.
        sequence: The visible tokens.
        informative: The positions, from 1, that the prediction depends on in all sequences.
    """
    experiment, latest = snapshot.experiment, present(snapshot.latest)
    process, tokens = experiment.generator, np.array(sequence)
    newest = latest.step, present(latest.model)
    true = figure(true_probs, process, sequence)
    best = figure(optimum, process, experiment.length)
    needs_marginals = not (newest[1].has_heads or process.prompt_length())
    marginals = figure(token_marginals, process, experiment.length) if needs_marginals else None
    known = (each is not None for each in (true, best, marginals))
    of = experiment, snapshot.history.changes, sequence, informative, *known
    # The frames by step, each with its model, since the models of a new run are others.
    before: dict[int, tuple[AbstractModel, dict[str, Any]]]
    was, scene, before = session().kept.get(_KEY, (None, None, {}))
    if was != of:
        given = {"informative": informative, "truth": true, "marginals": marginals}
        scene, before = scene_of(experiment, tokens, newest[1], **given), {}
    scene, models = present(scene), [newest]
    if not snapshot.active:
        kept = [each for each in snapshot.history.checkpoints if each[0] < latest.step]
        models = some([*kept, newest], scene.most_frames)
    tests = dict(snapshot.history.tests) | {latest.step: latest.evaluation}
    floor, frames = None if best is None else best.final, {}
    for step, model in models:
        model_before, frame = before.get(step, (None, {}))
        if model_before is not model:
            frame = frame_data(scene, scene.frame(step, model), test_of(tests, step), floor)
        frames[step] = model, frame
    # No others: a long run that is watched has a frame four times a second.
    session().kept[_KEY] = of, scene, frames
    return scene_data(scene) | {
        "key": f"{hash(of)}",
        "live": snapshot.active,
        "frames": [frame for _, frame in frames.values()],
    }


@functools.cache
def _component() -> Any:
    style, script = player()
    return component("attnlab_film", html='<div class="film"></div>', css=style, js=script + _START)


def draw_film(data: dict[str, Any], *, has_ended: bool) -> None:
    """Draw a film; the step at which it rests is shown in all panels."""
    at = shown_step()
    cookie = SEEN_END if has_ended else ""
    _component()(
        data=data | {"dark": on_dark(), "at": at, "cookie": cookie},
        key=_KEY,
        default={_STEP: at},
        on_step_change=_follow,
    )


def has_shipped_film(snapshot: Snapshot) -> bool:
    """Return whether a run that has no model yet has a film that comes with attnlab."""
    has_failed = snapshot.state == "failed"
    return snapshot.latest is None and not has_failed and snapshot.experiment in shipped_films()


def draw_shipped_film(snapshot: Snapshot) -> str:
    """Draw the film of a run's settings that comes with attnlab; return what the run learned."""
    film = present(shipped_film(snapshot.experiment))
    about = as_message(film.pop("about"))
    # No other panel shows its steps.
    data = film | {"key": "shipped", "dark": on_dark(), "at": None}
    _component()(data=data, key="shipped_film")
    return about


def _follow() -> None:
    # A film sends its step by itself, also just after its page was left, when it has no state.
    if state := st.session_state.get(_KEY):
        show_step(state[_STEP])
