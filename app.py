"""attnlab in the browser: `streamlit run app.py`."""

if __name__ == "__main__":
    from attnlab.ui.shell import run_shell

    run_shell()
else:
    # The server imports this file once, and runs it for every rerun of a page.
    import asyncio
    import os
    import threading
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    # XLA logs that every cached program may have been made for another processor, because of two
    # features that only the compiler knows. Read when JAX is imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import streamlit as st
    from starlette.middleware import Middleware

    from attnlab.ui.core.fragments import keep_loop
    from attnlab.ui.core.server import hosted, prepare_server
    from attnlab.ui.core.web import KnownHostsOnly, OwnServerOnly, shorten_log, show_error
    from attnlab.ui.train.cursor import warm_up

    shorten_log()

    try:
        hosted()
    except ValueError as error:
        # Must be known before the first request: whether the server is shared.
        raise SystemExit(f"attnlab: {error}") from None

    @asynccontextmanager
    async def prepared(_app: st.App) -> AsyncIterator[None]:
        """Prepare the server, and compute what its first user sees."""
        keep_loop(asyncio.get_running_loop())
        prepare_server()
        threading.Thread(target=warm_up, name="attnlab-warm-up", daemon=True).start()
        yield

    # Scripts that serve the app in another way, such as the benchmarks, use this.
    SERVING = {
        "lifespan": prepared,
        "middleware": [Middleware(KnownHostsOnly), Middleware(OwnServerOnly)],
        "on_script_error": show_error,
    }
    app = st.App(__file__, **SERVING)
