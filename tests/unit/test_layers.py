"""Imports point one way and change nothing; threads, files and types are as they should be."""

import ast
import functools
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import attnlab
import attnlab.public as public
from attnlab.configuration.number_text import show_measured
from attnlab.generators import GENERATORS, TASKS
from attnlab.models import MODELS, SOURCE_MODELS, Edit
from attnlab.models.inside import uniform
from attnlab.positions import POSITIONS
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES
from tests import WrongTypeWarning
from tests.unit.documents import DOCUMENTS

ROOT = Path(attnlab.__file__).parent

# The table in the documentation, lowest first: a package imports only itself and those before it.
LAYERS = tuple(
    re.findall(
        r"^\| `attnlab/([a-z_]+)(?:/|\.py)` \|",
        (ROOT.parent / "docs/dev/layers.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)
# What scripts import from, besides `attnlab` itself.
FOR_SCRIPTS = {"charts", "film", "generators", "inspection", "models", "optimum", "testing"}
# The same inside `ui`. The pages and app.py may import all of it.
UI_LAYERS = (
    "core",
    "controls",
    "library",
    "generators",
    "lessons",
    "train",
    "sequence_to_sequence",
    "inspect",
    "beliefs",
    "in_context",
    "compare",
    "shell",
)
# The version, which the package itself has, as it imports nothing.
VERSION = "attnlab.__version__"
# Beside the packages; nothing below imports them.
ENTRANCES = {"__main__", "public"}
# What only some packages may import, or single modules of them.
RESERVED = {
    "streamlit": {"ui"},
    "altair": {"charts", "ui"},
    "threading": {"comparisons.processes", "live", "runs.library", "ui"},
    "time": {"comparisons", "live", "lessons.costs", "runs.library.files", "command_line", "ui"},
    **dict.fromkeys(("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"), frozenset()),
    "subprocess": {"command_line.cli"},
    "socket": frozenset(),
}
# Functions that only some parts may call.
CALLED_IN = {
    "print": {"command_line", "__main__"},
    "open": {"runs.whole_file", "ui"},
    **dict.fromkeys(("input", "breakpoint", "exec", "eval"), frozenset()),
}

FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "__init__.py"
)


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def is_in(path, parts):
    """Whether a file is one of these packages or modules, or stands in one."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return any(f"{name}.".startswith(f"{part}.") for part in parts)


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """Every module that a file imports, in full, wherever in the file."""
    package = ("attnlab", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [] if node.level == 0 else package[: len(package) - node.level + 1]
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "attnlab":
                # Names of the package itself count as its parts or, if none, as the whole.
                yield from (f"attnlab.{name.name}" for name in node.names)
            else:
                yield module


def calls(path):
    """Names of the plain functions that a file calls."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def assert_nothing(wrong, files=FILES):
    """Fails with every file in which something is wrong, and what it is."""
    found = [(path.relative_to(ROOT.parent), sorted(wrong(path))) for path in files]
    problems = [f"{file}: {', '.join(names)}" for file, names in found if names]
    # As a message, since pytest shortens what it says of long lists.
    assert not problems, "\n".join(problems)


def test_every_part_has_its_place_in_the_table():
    assert {layer_of(path) for path in FILES} == {*LAYERS, *ENTRANCES}


@pytest.mark.slow
def test_imports_point_down():
    def wrong(path):
        layer = layer_of(path)
        if layer in ENTRANCES:
            allowed = set(LAYERS[: LAYERS.index("ui")])
        else:
            allowed = set(LAYERS[: LAYERS.index(layer) + 1])
        return {
            name
            for name in imported(path)
            if name != VERSION
            and (
                name == "attnlab"
                or (name.startswith("attnlab.") and name.split(".")[1] not in allowed)
            )
        }

    assert_nothing(wrong)


def test_imports_inside_ui_point_down():
    files = [path for path in FILES if layer_of(path) == "ui" and path != ROOT / "ui/__init__.py"]
    layers = {path: path.relative_to(ROOT).parts[1].removesuffix(".py") for path in files}
    assert set(layers.values()) == set(UI_LAYERS)

    def wrong(path):
        behind = [f"attnlab.ui.{each}" for each in UI_LAYERS[UI_LAYERS.index(layers[path]) + 1 :]]
        return {
            name
            for name in imported(path)
            if name == "attnlab.ui" or any(f"{name}.".startswith(f"{each}.") for each in behind)
        }

    assert_nothing(wrong, files)


def test_reserved_modules_and_functions_stay_in_their_parts():
    def wrong(path):
        anywhere, names = {layer_of(path)}, set(imported(path))
        modules = {n for n in names if not is_in(path, RESERVED.get(n.split(".")[0], anywhere))}
        return modules | {n for n in calls(path) if not is_in(path, CALLED_IN.get(n, anywhere))}

    assert_nothing(wrong)


def test_what_registries_name_is_exported():
    registries = (GENERATORS, TASKS, MODELS, SOURCE_MODELS, POSITIONS, OPTIMISERS, SCHEDULES)
    for kind in (kind for registry in registries for kind in registry.values()):
        assert getattr(attnlab, kind.__name__) is kind
        assert kind.__name__ in vars(public)


def test_the_package_named_optimum_is_its_function_too():
    from attnlab import DotMod, optimum

    assert optimum(DotMod(n=1), 2) == optimum.optimum(DotMod(n=1), 2)


PROJECT = Path(__file__).resolve().parents[2]
# What the libraries that attnlab needs do themselves comes before the first look.
PROGRAM = """
import json, os, signal, sys, threading
import jax, equinox, optax, jaxtyping, numpy, platformdirs, PIL

def look():
    return {
        "signals": [repr(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "wakeup": signal.set_wakeup_fd(-1),
        "finders": [repr(finder) for finder in sys.meta_path],
        "environment": dict(os.environ),
        "threads": threading.active_count(),
        "descriptors": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self") else [],
        "jax": {name: repr(value) for name, value in jax.config.values.items()},
        "streamlit": "streamlit" in sys.modules,
    }

before = look()
import attnlab
import attnlab.public as public
print(json.dumps([before, look()]))
"""


def printed_by(arguments, folder):
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{PROJECT}"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, timeout=120
    )
    return done.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("by", ["a module of another package", "a script of the same name"])
def test_importing_attnlab_changes_nothing(tmp_path, by):
    package = tmp_path / "their"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "module.py").write_text(PROGRAM)
    # The name of the installed command.
    script = tmp_path / "attnlab"
    script.write_text(PROGRAM)
    command = ["-m", "their.module"] if by.startswith("a module") else [str(script)]
    before, after = json.loads(printed_by(command, tmp_path))
    # Imported code of a library may define an option of its own.
    assert after["jax"].items() >= before["jax"].items()
    assert {**after, "jax": None} == {**before, "jax": None}


def test_types_and_shapes_of_calls_and_fields_are_checked():
    with pytest.raises(WrongTypeWarning, match="show_measured"):
        show_measured("1.5", 0.1)
    with pytest.raises(TypeError, match="uniform"):
        uniform(np.ones((2, 2, 2), dtype=bool))
    with pytest.raises(TypeError, match="Edit"):
        Edit(0, 0, "uniform")


def is_foreign(value):
    """Whether a value is a module, a class or a function of another package."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and not name.startswith("attnlab")


@pytest.mark.parametrize("name", ["attnlab", *(f"attnlab.{part}" for part in sorted(FOR_SCRIPTS))])
def test_modules_for_scripts_complete_their_own_names_only(name):
    module = importlib.import_module(name)
    offered = {each for each in dir(module) if not each.startswith("_")}
    assert "jax" not in offered
    assert [
        each for each in sorted(offered - FOR_SCRIPTS) if is_foreign(getattr(module, each))
    ] == []


def test_documents_import_from_modules_for_scripts():
    named = {
        found
        for path in DOCUMENTS
        for found in re.findall(
            r"^(?:>>> )?from (attnlab[\w.]*) import", path.read_text("utf-8"), re.M
        )
    }
    assert named <= {"attnlab", *(f"attnlab.{part}" for part in FOR_SCRIPTS)}


def test_what_a_script_needs_is_offered():
    assert {"option", "Draw", "AbstractGenerator", "AbstractSchedule", "resume"} <= {*dir(attnlab)}
    assert {*vars(public)} - {*dir(attnlab)} <= {each for each in vars(public) if each[0] == "_"}
