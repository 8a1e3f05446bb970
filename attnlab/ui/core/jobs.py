"""Background jobs of a session: buttons, progress and results."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from attnlab.configuration.number_text import show_duration
from attnlab.configuration.options import AttnlabError
from attnlab.lessons.examples import Example, shipped_example
from attnlab.live.jobs import Job, JobState
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.outside import draw_error, draw_warning
from attnlab.ui.core.server import work_queue
from attnlab.ui.core.session import session

_Example = TypeVar("_Example")
# The first items include compilation, so their speed says little about the others.
_SECONDS_TO_ESTIMATE = 3.0


def job_of(name: str) -> Job | None:
    """Return the session's job with that name, running or not, or None."""
    return session().jobs.get(name)


def start_job(
    name: str,
    make: Callable[[], Iterator[Any]],
    *,
    of: Any = None,
    rest: float = 0.0,
    at_once: bool = False,
) -> None:
    """Start a job in the server's queue; pause and replace an earlier job of the same name.

    Args:
        name: The name of the job in the session.
        make: Creates the iterator to run; each item is the job's result so far.
        of: The subject of the job, which `job_of(name).of` returns.
        rest: Seconds to wait after each item.
        at_once: Start without waiting in the queue.
    """
    forget_job(name)
    queue = None if at_once else work_queue()
    job = session().jobs[name] = Job(make, of=of, queue=queue, rest=rest)
    job.start()


def forget_job(name: str) -> None:
    """Pause and drop the job with that name, if there is one."""
    if job := session().jobs.pop(name, None):
        job.pause()


def draw_job_buttons(name: str, label: str, on_start: Callable[[], None]) -> None:
    """Draw the buttons Start, with that label, and Stop and, after a stop, Continue."""
    job = job_of(name)
    state = None if job is None else job.state()
    running = state is not None and state.running
    draw_button(label, f"{name}_start", "play_arrow", on_start, type="primary", disabled=running)
    draw_button(
        "Stop", f"{name}_stop", "stop", None if job is None else job.pause, disabled=not running
    )
    if job is not None and state is not None and not running and not state.done:
        draw_button("Continue", f"{name}_go_on", "resume", job.start)


def draw_source(
    name: str, plan: Any, label: str, *, of_example: Callable[[Any], str], invitation: str
) -> Job | Example | None:
    """Draw whether the results below are an example or have other settings; return their source.

    Args:
        name: The name of the job.
        plan: The current settings.
        label: The label of the button Start.
        of_example: Returns the settings of the example as text.
        invitation: What the button does, if the job was never started.
    """
    job = job_of(name)
    with st.container(key=f"{name}_source"):
        if job is None:
            example = readable_example(partial(shipped_example, name))
            if example is None:
                st.info(invitation)
                return None
            made = example.made
            # As a caption, since a box would push the result out of the first window.
            st.caption(
                f":material/inventory_2: **Example result**: {of_example(example.of)}. "
                f"{invitation}",
                help=f"Computed on {made.date} with attnlab {made.attnlab} on {made.machine}.",
            )
            return example
        if job.of != plan:
            st.info(
                f"Settings changed. Press **{label}** to apply them; the previous results are "
                "below.",
                icon=":material/change_circle:",
            )
    return job


def readable_example(read: Callable[[], _Example]) -> _Example | None:
    """Return the example that `read` returns; if its file is damaged, draw a warning instead."""
    try:
        return read()
    except AttnlabError as error:
        draw_warning(str(error), icon=":material/broken_image:")
        return None


def draw_job(
    name: str,
    draw: Callable[[Any], None],
    *,
    failed: str,
    progress: Callable[[Any], tuple[float, str]] | None = None,
    source: Job | Example | None = None,
) -> None:
    """Draw the state of a job; redraw it four times a second while the job runs.

    Args:
        name: The name of the job.
        draw: Draws the job's state, or None if it was never started.
        failed: The text before an error message.
        progress: Returns the fraction done and a description, given the latest item or None. If
            given, a progress bar is drawn.
        source: The return value of `draw_source`; an example is drawn like a job that is done.
    """
    job = job_of(name)
    if isinstance(source, Example):
        draw(JobState(source.result, running=False, done=True, message="", error="", seconds=0.0))
        return
    draw_while(
        lambda: job is not None and job.state().running,
        partial(_draw_state, name, job, draw, failed, progress),
        key=f"{name}_live",
        seconds=0.25,
    )


def _draw_state(
    name: str,
    job: Job | None,
    draw: Callable[[Any], None],
    failed: str,
    progress: Callable[[Any], tuple[float, str]] | None,
) -> None:
    state = None if job is None else job.state()
    if state is not None:
        with st.container(key=f"{name}_status"):
            if state.error:
                draw_error(f"{failed} ended with an error. {state.error}")
            elif progress is not None:
                share, doing = progress(state.latest)
                words = " · ".join(filter(None, (progress_text(state, share), doing)))
                st.progress(share, words)
    draw(state)


def progress_text(state: JobState, share: float) -> str:
    """Return the fraction done and, if there is one, the job's message or the time left."""
    if state.done:
        return "done: 100%" if share == 1 else f"ended: {share:.0%}"
    parts = [f"{'running' if state.running else 'stopped'}: {share:.0%}"]
    if state.message:
        parts.append(state.message)
    elif state.running and share > 0 and state.seconds > _SECONDS_TO_ESTIMATE:
        left = state.seconds * (1 - share) / share
        parts.append(f"about {show_duration(left)} left")
    return " · ".join(parts)
