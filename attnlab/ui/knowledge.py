"""What is known of a process, asked for in the background and drawn when it is there."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any

import streamlit as st

from attnlab.answers import Answers
from attnlab.experiment import Experiment
from attnlab.feasibility import Verdict, feasibility
from attnlab.optimum import Best


@st.cache_resource(show_spinner=False)
def _answers() -> Answers:
    return Answers()


def ask(function: Callable[..., Any], *arguments: Hashable) -> Future:
    """The answer of a slow pure function, shared by all sessions of the server."""
    return _answers().ask(function, *arguments)


def answer_or_none(function: Callable[..., Any], *arguments: Hashable) -> Any:
    """The answer if it is there already, else None; asked for in any case."""
    future = ask(function, *arguments)
    return future.result() if future.done() else None


def draw_verdict(experiment: Experiment) -> None:
    """Under the Start button: what the settings can come to, before anything is trained."""
    pending = not ask(feasibility, experiment).done()
    st.fragment(_draw_verdict, key="verdict", run_every=0.5 if pending else None)(
        experiment, pending
    )


def _draw_verdict(experiment: Experiment, pending: bool) -> None:
    future = ask(feasibility, experiment)
    if not future.done():
        st.caption(":material/hourglass_top: Working out what can be learned …")
        return
    if pending:
        # The timer has done its work.
        st.rerun()
    verdict: Verdict = future.result()
    text = f"Best possible from {experiment.length} days: {figures(verdict.best)}."
    if verdict.reachable.nll > verdict.best.nll + 1e-3:
        text += f" Within reach of these settings: {figures(verdict.reachable)}."
    with st.container(key="verdict"):
        if verdict.findings:
            st.warning(
                text + "".join(f"\n- {finding}" for finding in verdict.findings),
                icon=":material/report:",
            )
        else:
            st.caption(f":material/task_alt: {text}")


def figures(best: Best) -> str:
    """Accuracy and loss of a reference predictor, with errors or the word exact."""
    if best.exact:
        return f"accuracy {best.accuracy:.3f}, loss {best.nll:.3f} nats (exact)"
    return (
        f"accuracy {best.accuracy:.3f} ± {best.accuracy_stderr:.3f}, "
        f"loss {best.nll:.3f} ± {best.nll_stderr:.3f} nats (estimated)"
    )
