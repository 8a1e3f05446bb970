"""The app's scripts without server and browser, by Streamlit's AppTest."""

import logging
from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
_PATIENCE = 120.0


def opened_app() -> AppTest:
    """The app as it opens, in this process."""
    # It tells every time that there is no server, which is so on purpose.
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True
    return AppTest.from_file(ROOT / "app.py", default_timeout=_PATIENCE).run()
