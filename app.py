"""attnlab in the browser: `streamlit run app.py`."""

from attnlab.ui.shell import run_shell

run_shell()
