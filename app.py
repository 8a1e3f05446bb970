"""attnlab in the browser: `streamlit run app.py`."""

if __name__ == "__main__":
    from first_paint.waiting import wait_for_engine

    wait_for_engine()

    from attnlab.ui.core.shell import run_shell

    run_shell()
else:
    # The server imports this file once, and then runs it anew for every picture of a page.
    import asyncio
    import os
    import threading
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    import streamlit as st
    from starlette.middleware import Middleware
    from streamlit.runtime.pages_manager import PagesManager

    from first_paint.errors import tell_calmly
    from first_paint.hosting import hosted
    from first_paint.log import shorten_log
    from first_paint.policy import KnownHostsOnly, OwnServerOnly
    from first_paint.waiting import engine_is_here, engine_lock

    shorten_log()

    try:
        hosted()
    except ValueError as error:
        # Whether strangers share it must be known before anything is answered.
        raise SystemExit(f"attnlab: {error}") from None

    # Until somebody has called `st.navigation`, Streamlit would take the files of `pages/` for
    # pages of their own, and run that of a first link without this one.
    PagesManager.uses_pages_directory = False

    # XLA reports every program that it takes from the cache, in a screenful of letters, as
    # perhaps made for another processor, for two features that only the compiler knows of.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    def _warm_up(loop: asyncio.AbstractEventLoop) -> None:
        # Here and not above: the server answers while the engine is still being imported.
        with engine_lock():
            from attnlab.ui.core.fragments import keep_loop

            keep_loop(loop)

            from attnlab.ui.core.warm_up import compile_first_experiment, prepare_first_page

            prepare_first_page()
            engine_is_here().set()
        compile_first_experiment()

    @asynccontextmanager
    async def with_engine(_app: st.App) -> AsyncIterator[None]:
        """While the server runs: have the engine imported, and what it is first asked for made."""
        arguments = (asyncio.get_running_loop(),)
        threading.Thread(
            target=_warm_up, args=arguments, name="attnlab-warm-up", daemon=True
        ).start()
        yield

    # Scripts that serve the app in another way, such as those of the benchmarks, take it from here.
    SERVING = {
        "lifespan": with_engine,
        "middleware": [Middleware(KnownHostsOnly), Middleware(OwnServerOnly)],
        "on_script_error": tell_calmly,
    }
    app = st.App(__file__, **SERVING)
