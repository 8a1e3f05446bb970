"""Which runs of the library are ticked, whatever page of the table they are on."""

from collections.abc import Iterable

import streamlit as st

from attnlab.runs.library import Entry, Library

MOST_TICKED = 100
_TICKED, _TABLES = "library_ticked", "library_tables"


def ticked() -> tuple[int, ...]:
    """The numbers of the ticked runs, in the order in which they were ticked."""
    return st.session_state.get(_TICKED, ())


def set_ticked(numbers: Iterable[int]) -> None:
    """Tick these, and no others, in a new table. For callbacks."""
    _put(numbers)
    st.session_state[_TABLES] = table_number() + 1


def table_number() -> int:
    """How often ticks were set otherwise than by the table, which then begins anew with them."""
    return st.session_state.get(_TABLES, 0)


def tick_on_page(on_page: tuple[int, ...], chosen: Iterable[int]) -> None:
    """Of the runs of a page tick those that are chosen; those of other pages stay. As above."""
    new = set(chosen)
    stay = [number for number in ticked() if number in new or number not in on_page]
    _put([*stay, *(number for number in on_page if number in new)])


def _put(numbers: Iterable[int]) -> None:
    st.session_state[_TICKED] = tuple(dict.fromkeys(numbers))[:MOST_TICKED]


def ticked_entries(library: Library, *, in_bin: bool) -> tuple[Entry, ...]:
    """The ticked runs; those that were deleted or restored since, here or elsewhere, are not."""
    found = (library.entry(number) for number in ticked())
    return tuple(each for each in found if each and (each.deleted is not None) == in_bin)
