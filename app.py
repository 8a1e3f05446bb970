"""attnlab in the browser: `streamlit run app.py`."""

if __name__ == "__main__":
    from attnlab.ui.shell import run_shell

    run_shell()
else:
    # The server imports this file once, and also runs it at every rerun of a page (above).
    import asyncio
    import importlib
    import os
    import sys
    import threading
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    import streamlit as st
    from starlette.middleware import Middleware

    from attnlab.configuration.environment import quiet_xla
    from attnlab.registering import import_file
    from attnlab.ui.core.fragments import keep_loop
    from attnlab.ui.core.server import hosted, prepare_server
    from attnlab.ui.core.web import KnownHostsOnly, OwnServerOnly, shorten_log, show_error
    from attnlab.ui.train.cursor import warm_up

    quiet_xla()
    shorten_log()

    try:
        hosted()
        if module := os.environ.get("ATTNLAB_MODULE"):
            import_file(module)
    except ValueError as error:
        # Before the first request.
        raise SystemExit(f"attnlab: {error}") from None

    @asynccontextmanager
    async def prepared(_app: st.App) -> AsyncIterator[None]:
        """Prepare the server, and compile in the background what its first user may start."""
        keep_loop(asyncio.get_running_loop())
        prepare_server()
        # The first page needs it. Imported earlier, it would warn that the server does not run yet.
        importlib.import_module("attnlab.ui.shell")
        # Later than the first picture, which comes with attnlab, on any page.
        warming = threading.Timer(6.0, warm_up)
        warming.daemon = True
        warming.start()
        yield
        sys.stdout.flush()
        # Python would end threads inside compiled code, and the process would abort.
        os._exit(0)

    # Also for scripts that serve the app in another way, such as the benchmarks.
    SERVING = {
        "lifespan": prepared,
        "middleware": [Middleware(KnownHostsOnly), Middleware(OwnServerOnly)],
        "on_script_error": show_error,
    }
    app = st.App(__file__, **SERVING)
