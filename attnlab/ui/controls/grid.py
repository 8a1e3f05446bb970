"""Tables to edit whose source is a text that stands elsewhere."""

from collections.abc import Callable, Hashable

import pandas as pd
import streamlit as st


def begin_grid(key: str, source: Hashable, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """The table for the `st.data_editor` whose key is `key` and `_grid`, made of the `source`.

    A grid keeps its edits as changes to the table it began with. It begins anew only when the
    source was changed elsewhere, since otherwise the cell being typed in would lose the focus.
    """
    grid, began, shown = f"{key}_grid", f"{key}_began", f"{key}_shown"
    if st.session_state.get(shown) != source or grid not in st.session_state:
        st.session_state.pop(grid, None)
        st.session_state[began], st.session_state[shown] = make(), source
    return st.session_state[began]


def keep_grid(key: str, source: Hashable) -> None:
    """Go on with the grid: its own edits were written into the source."""
    st.session_state[f"{key}_shown"] = source
