"""The app on a server that is always behind: it takes milliseconds over every message."""

if __name__ == "__main__":
    from attnlab.ui.shell import run_shell

    run_shell()
else:
    import functools
    import time
    from collections.abc import Callable
    from typing import Any

    import streamlit as st
    from streamlit.runtime.app_session import AppSession

    from app import SERVING

    _MESSAGE_SECONDS = 0.004

    def _slowly(take: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(take)
        def take_slowly(*arguments: Any, **options: Any) -> None:
            time.sleep(_MESSAGE_SECONDS)
            take(*arguments, **options)

        return take_slowly

    # What a script has drawn comes here, on the event loop, piece by piece.
    AppSession._handle_scriptrunner_event_on_event_loop = _slowly(
        AppSession._handle_scriptrunner_event_on_event_loop
    )
    app = st.App(__file__, **SERVING)
