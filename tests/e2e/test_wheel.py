"""The wheel, installed in a separate folder, opens the app from an empty folder."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.e2e.server import ROOT, AppServer
from tests.e2e.train_page import QUICK, TrainPage

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OWN = '''
import dataclasses

import attnlab
from attnlab.training.optimisers import AbstractSchedule


@attnlab.register
@dataclasses.dataclass(frozen=True)
class Half(AbstractSchedule):
    """Half the learning rate."""

    name = "half"
    summary = "Half the learning rate, in every step."

    def share(self, done):
        return 0.5
'''


def pip(*arguments):
    command = [sys.executable, "-m", "pip", *map(str, arguments), "--no-deps", "--no-index"]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def installed(tmp_path):
    """The folder with what the wheel holds; its libraries are those of the tests."""
    pip("wheel", ROOT, "--no-build-isolation", "--wheel-dir", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    pip("install", wheel, "--target", tmp_path / "installed")
    return tmp_path / "installed"


def _files(folder):
    return {path.relative_to(folder) for path in folder.rglob("*.*") if path.suffix != ".pyc"}


def test_it_has_all_files_of_the_app_and_trains_with_a_class_of_a_users_own(
    installed, tmp_path, new_page
):
    package = installed / "attnlab"
    assert _files(package / "_app" / "pages") == _files(ROOT / "pages")
    app = {path for path in _files(package) if path.parts[0] == "_app"}
    assert _files(package) - app == _files(ROOT / "attnlab")
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "my_module.py").write_text(OWN, encoding="utf-8")
    server = AppServer(
        tmp_path / "log",
        {"PYTHONPATH": str(installed), "ATTNLAB_LIBRARY": "off"},
        command=("-m", "attnlab", "app", "../my_module.py", "--no-browser"),
        folder=empty,
    )
    server.start()
    try:
        train = TrainPage(new_page())
        train.page.goto(f"{server.url}{QUICK}&schedule=half")
        train.wait_for("idle")
        # The colour of the settings of this app, not of Streamlit.
        expect(train.button("start")).to_have_css("background-color", "rgb(80, 72, 200)")
        train.press("start")
        train.wait_for("done")
        assert "schedule=half" in train.page.url
        assert server.interrupt() == 0
    finally:
        server.stop()
    assert "Traceback" not in server.log()
    assert list(empty.iterdir()) == []
