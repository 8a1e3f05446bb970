"""How many tokens of the targets lie on the table: by a slider, or one after the other."""

import streamlit as st

# `_PLAYED` is how many there are while the table plays. The slider follows it: what a browser sends
# of a slider that moves by itself is where it stood a moment ago.
_LAID, _PLAYED = "table_laid", "table_played"


def is_playing() -> bool:
    """Whether tokens are laid by themselves."""
    return _PLAYED in st.session_state


def stop_playing() -> None:
    """What lies on the table stays as it is."""
    st.session_state.pop(_PLAYED, None)


def draw_player(count: int) -> int:
    """Play or Stop, and the slider; how many of `count` tokens are laid now.

    Each drawing while it plays lays one more.
    """
    key = f"{_LAID}_{count}"
    if is_playing():
        played = st.session_state[_PLAYED] = st.session_state[_PLAYED] + 1
        st.session_state[key] = min(played, count)
        # It has ended when the browser has heard of the last one.
        if played > count:
            del st.session_state[_PLAYED]
    # Two buttons, as those of a replay: a click may come twice.
    with st.container(key="table_play", width="content"), st.empty():
        if is_playing():
            st.button(
                "Stop", key="table_stop", icon=":material/pause:", on_click=stop_playing, width=100
            )
        else:
            st.button(
                "Play",
                key="table_begin",
                icon=":material/play_arrow:",
                on_click=_begin,
                args=(key, count),
                width=100,
            )
    return st.slider(
        "written so far",
        0,
        count,
        count,
        key=key,
        persist_state="session",
        disabled=is_playing(),
        width=220,
        help="Step by step with the arrow keys, or press Play.",
    )


def _begin(key: str, count: int) -> None:
    if not is_playing():
        at = st.session_state.get(key, count)
        st.session_state[_PLAYED] = 0 if at >= count else at
