"""The command `app`, which the wheel's test opens, and the library without the app's packages."""

import subprocess
import sys

import pytest

import attnlab
from tests.unit.documents import ROOT

BAD = {
    "no such module": (("app", "missing.py"), "`module` is 'missing.py': no such file"),
    "a folder": (("app", "."), "`module` is '.': no such file"),
    "port 0": (("app", "--port", "0"), "`port` is 0"),
    "port a word": (("app", "--port", "http"), "`port` is 'http'"),
    "unknown flag": (("app", "--prot", "1"), "--prot"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_ends_with_status_2_and_one_line_that_names_it(run, case):
    arguments, named = BAD[case]
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert named in err


@pytest.mark.parametrize("package", ["streamlit", "vl_convert"])
def test_without_the_extra_one_line_says_what_to_install(run, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    status, out, err = run("app")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert 'pip install "attnlab[app]"' in err


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"attnlab {attnlab.__version__}\n", "")


def test_the_version_is_printed_without_importing_jax():
    program = "import sys; sys.modules['jax'] = None; from attnlab.__main__ import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (f"attnlab {attnlab.__version__}\n", "")


# What `app` installs beyond the library, as Python imports it.
WITHOUT = """
import sys

for package in ("streamlit", "altair", "pandas", "pyarrow", "PIL", "vl_convert", "markdown_it"):
    sys.modules[package] = None
from attnlab.__main__ import run

sys.exit(run())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("sample", "markov", "--size", "2"), "→"),
        (("train", "--steps", "2", "--train-size", "200", "--test-size", "100"), "accuracy"),
        (("compare", "--seeds", "2", "--steps", "2", "--test-size", "100"), "accuracy"),
    ],
)
def test_the_library_alone_samples_trains_and_compares(arguments, printed):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
