"""The tabs of Look inside, the processes that each is about, and their address parameter."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import streamlit as st

from attnlab.generators import AbstractGenerator
from attnlab.inspection.belief_probes import has_beliefs
from attnlab.inspection.strategies import has_references
from attnlab.ui.controls.address import OwnParameters, choices_in_address

VIEW = "view"
ATTENTION, BELIEFS, ALGORITHM = "attention", "beliefs", "algorithm"


class Tab(NamedTuple):
    """A tab: its title and question, the processes that it is about, and what the others lack.

    `lacks` is the end of a sentence about such a process.
    """

    title: str
    question: str
    applies: Callable[[AbstractGenerator], bool] = lambda process: True
    lacks: str = ""

    def lacked_by(self, process: AbstractGenerator) -> str:
        """Return what a process lacks, as the end of a sentence about it."""
        return self.lacks if process.has_law else "has no known law"


TABS: Mapping[str, Tab] = MappingProxyType(
    {
        ATTENTION: Tab("Where it looks", "Where does the model look, and does it matter?"),
        BELIEFS: Tab(
            "What it believes",
            "Does the model know how likely each hidden state is?",
            has_beliefs,
            "has no hidden states",
        ),
        ALGORITHM: Tab(
            "Which algorithm",
            "How does the model find the rule of each sequence?",
            has_references,
            "has the same rule in all sequences",
        ),
    }
)


def parameters(first: str) -> OwnParameters:
    """Return the parameter of the tab in an address that opens with the tab `first`."""
    return choices_in_address({VIEW: (first, *(name for name in TABS if name != first))})


def show_tab_of(process: AbstractGenerator) -> None:
    """In a callback: choose the tab that says most about the process."""
    # Later tabs are about fewer processes.
    st.session_state[VIEW] = [name for name, tab in TABS.items() if tab.applies(process)][-1]


def choose_tab(process: AbstractGenerator) -> str:
    """Draw the tabs that apply to the process, if there are several; return the chosen one.

    A tab that the address asks for is among them.
    """
    chosen = st.session_state[VIEW]
    names = [name for name, tab in TABS.items() if tab.applies(process) or name == chosen]
    if len(names) > 1:
        st.segmented_control(
            "view",
            names,
            required=True,
            key=VIEW,
            format_func=lambda name: TABS[name].title,
            label_visibility="collapsed",
            persist_state="session",
        )
    return st.session_state[VIEW]
