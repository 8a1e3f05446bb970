"""What holds of every command: its encoding, its flags, its help, and the environment it reads."""

import dataclasses
import inspect
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.__main__ import run as run_process
from attnlab.generators import PROCESSES
from attnlab.models import ALL_MODELS
from attnlab.positions import POSITIONS
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    ("sample",), ("optimum",), ("check",), ("train",), ("compare",), ("reproduce",),
    ("runs", "list"), ("runs", "show"), ("runs", "delete"), ("runs", "restore"), ("runs", "export"),
    ("runs", "import"), ("runs", "empty-bin"),
)  # fmt: skip
POSITIONAL = {
    "sample": ("markov",), "optimum": ("markov",), "check": ("markov",), "show": ("1",),
    "delete": ("1",), "restore": ("1",), "export": ("file",), "import": ("file",),
}  # fmt: skip
SMALL = ("--length", "3", "--steps", "2", "--train-size", "100", "--test-size", "100")
CALLS = (
    *((*command, "--help") for command in COMMANDS),
    *(("train", "--help", name) for name in ("sinusoidal", "cards", "markov", "sgd")),
    *(("sample", name, "--size", "1") for name in ("markov", "cards")),
    ("sample", "markov", "--json"),
    ("optimum", "markov", "--length", "2"),
    ("optimum", "markov", "--length", "2", "--csv"),
    ("check", "markov", "--length", "2"),
    ("check", "markov", "--length", "2", "--json"),
    ("optimum", "cards", "--hand", "2", "--json"),
    ("train", "--list-presets"),
    ("train", "--model", "linear", "--json", *SMALL),
    ("train", "--model", "linear", *SMALL),
    ("compare", "--model", "linear", "--seeds", "2", "--csv", *SMALL),
    ("compare", "--model", "linear", "--seeds", "2", "--json", *SMALL),
    ("compare", "--model", "linear", "--seeds", "1", *SMALL),
    ("reproduce", "--shipped"),
    ("reproduce", "--shipped", "--json"),
    ("runs", "list"),
    ("runs", "list", "--json"),
    ("runs", "show", "1"),
    ("runs", "show", "1", "--json"),
)

pytestmark = pytest.mark.usefixtures("as_users_run")


def flags_of(run, command):
    """Every flag of a command, and whether it takes a value, from what `--help` prints."""
    status, out, _ = run(*command, "--help")
    assert status == 0
    found = {}
    for line in out[out.index("\noptions:") :].splitlines():
        if line.startswith("  -"):
            for part in re.split(r", (?=-)", line.strip()):
                flag, _, rest = part.partition(" ")
                found[flag] = bool(rest) and not rest.startswith(" ")
    return {flag: takes for flag, takes in found.items() if flag.startswith("--")}


@pytest.mark.slow
def test_output_is_utf_8_whatever_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path))
    seen = {}
    for call in CALLS:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
        monkeypatch.setattr("sys.argv", ["attnlab", *call])
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", err)
        assert run_process() == 0, (call, err.buffer.getvalue())
        text = seen[call] = out.buffer.getvalue().decode("utf-8")
        err.buffer.getvalue().decode("utf-8")
        assert text
        if "--json" in call:
            # Safe in any encoding, and for every reader: JSON has no NaN.
            assert text.isascii()
            json.loads(text, parse_constant=pytest.fail)
    assert "☀️" in seen["sample", "markov", "--size", "1"]


@pytest.mark.slow
def test_the_environment_of_a_process_does_not_choose_its_encoding():
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "attnlab", "sample", "cards", "--size", "1"]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0
    assert "→" in done.stdout.decode("utf-8")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_prefix_of_a_flag_is_taken_for_it(run, command):
    flags = flags_of(run, command)
    assert flags.keys() >= {"--help"}
    for flag in flags:
        for end in range(3, len(flag)):
            prefix = flag[:end]
            if prefix in flags:
                continue
            status, out, err = run(*command, *POSITIONAL.get(command[-1], ()), f"{prefix}=3")
            assert (status, out, err.count("\n")) == (2, "", 1)
            assert "unrecognized arguments" in err
            break


# A file may have this name, and an address takes long to be refused. `runs` looks for it.
NOT_REFUSED = {"--save", "--card", "--dask", "--help"}


@pytest.mark.parametrize("command", [c for c in COMMANDS if c[0] != "runs"], ids=" ".join)
def test_two_hyphens_are_no_value(run, command):
    for flag, takes_value in flags_of(run, command).items():
        if not takes_value or flag in NOT_REFUSED:
            continue
        status, out, err = run(*command, *POSITIONAL.get(command[-1], ()), f"{flag}=--")
        assert (status, out) == (2, ""), (flag, err)
        assert err.count("\n") == 1


def test_a_text_to_look_for_may_be_two_hyphens(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path))
    assert run("runs", "list", "--text=--") == (0, "", "")


REGISTRIES = (PROCESSES, ALL_MODELS, POSITIONS, OPTIMISERS, SCHEDULES)


def in_words(text):
    return " ".join(text.split())


def test_the_help_of_a_part_has_its_flags_and_no_others(run):
    for registry in REGISTRIES:
        for name, part in registry.items():
            status, out, err = run("train", "--help", name)
            assert (status, err) == (0, "")
            fields = [f for f in dataclasses.fields(part) if "option" in f.metadata]
            flags = re.findall(r"^  --([a-z0-9-]+)", out, re.MULTILINE)
            arguments = [*inspect.signature(part).parameters]
            fields.sort(key=lambda field: arguments.index(field.name))
            assert flags == [field.name.replace("_", "-") for field in fields]
            for field in fields:
                assert in_words(field.metadata["option"].help) in in_words(out)


def test_help_is_grouped_and_a_shared_flag_has_the_help_of_each(run):
    out = run("train", "--help")[1]
    for registry in REGISTRIES:
        for name in registry:
            assert len(re.findall(rf"^(\w+ )?{name}:", out, re.MULTILINE)) == 1
    for name in ("recall", "dotmod"):
        fields = {field.name: field for field in dataclasses.fields(PROCESSES[name])}
        words = fields["variant"].metadata["option"].help
        assert in_words(words) in in_words(out)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_library_of_an_unknown_user_is_refused_in_one_line(run, command, monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", "~nobody-of-this-name/runs")
    status, out, err = run(*command, *POSITIONAL.get(command[-1], ()))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("attnlab: `ATTNLAB_LIBRARY` is '~nobody-of-this-name/runs'")


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["cuda", "nothing"])
def test_a_device_that_is_not_there_is_one_line(platform):
    environment = {**os.environ, "JAX_PLATFORMS": platform, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "attnlab", "sample", "markov"]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"attnlab: `JAX_PLATFORMS` is '{platform}'")
