"""Streamlit's configuration: a file that it cannot read it ignores, with all that is asked for."""

import tomllib
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"


def test_nothing_is_reported_and_no_traceback_shown():
    configuration = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    assert configuration["browser"]["gatherUsageStats"] is False
    assert configuration["client"]["showErrorDetails"] == "none"
    assert configuration["server"]["maxUploadSize"] <= 50
