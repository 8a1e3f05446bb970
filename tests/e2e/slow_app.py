"""The app on a server that is always behind: it takes milliseconds over every message.

And over every control when a script has ended, so that what comes next comes in the midst of it.
"""

if __name__ == "__main__":
    from first_paint.waiting import wait_for_engine

    wait_for_engine()

    from attnlab.ui.core.shell import run_shell

    run_shell()
else:
    import functools
    import time
    from collections.abc import Callable
    from typing import Any

    import streamlit as st
    from streamlit.runtime.app_session import AppSession
    from streamlit.runtime.state import session_state

    from app import SERVING

    _SECONDS = 0.004

    def _slowly(take: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(take)
        def take_slowly(*arguments: Any, **options: Any) -> Any:
            time.sleep(_SECONDS)
            return take(*arguments, **options)

        return take_slowly

    # What a script has drawn comes here, on the event loop, piece by piece.
    AppSession._handle_scriptrunner_event_on_event_loop = _slowly(
        AppSession._handle_scriptrunner_event_on_event_loop
    )
    # Asked of every control of a session when one of its scripts has ended.
    session_state._is_stale_widget = _slowly(session_state._is_stale_widget)
    app = st.App(__file__, **SERVING)
