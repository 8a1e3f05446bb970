"""Imports point one way, and threads, clocks, files and screens stay where they belong."""

import ast
import functools
from pathlib import Path

import attnlab

ROOT = Path(attnlab.__file__).parent

# Lowest first: a part may import those before it and nothing behind it.
LAYERS = (
    "options",
    "vocabulary",
    "number_text",
    "records",
    "compilation",
    "interruption",
    "generators",
    "optimum",
    "positions",
    "geometry",
    "scores",
    "attention",
    "averages",
    "chunked_attention",
    "models",
    "stages",
    "worked_examples",
    "losses",
    "sources",
    "training",
    "changes",
    "experiment",
    "presets",
    "limits",
    "script",
    "generation",
    "history",
    "loss_file",
    "feasibility",
    "learned",
    "inspection",
    "run_file_header",
    "storage",
    "answers",
    "programs",
    "saturation",
    "safety",
    "sweep",
    "regression_data",
    "kernel_regression",
    "learned_kernel",
    "points_text",
    "pace",
    "queueing",
    "background",
    "snapshot",
    "attempt",
    "trainer",
    "live",
    "charts",
    "flags",
    "links",
    "differences",
    "past_runs",
    "ending",
    "cli",
    "ui",
)
# What only some parts may import, and which.
RESERVED = {
    "streamlit": {"ui"},
    "altair": {"charts", "ui"},
    "threading": {
        "attempt",
        "trainer",
        "live",
        "answers",
        "background",
        "queueing",
        "ending",
        "ui",
    },
    "concurrent": {"answers", "programs", "ui"},
    "time": {"pace", "queueing", "background", "answers", "cli", "ui"},
    "datetime": {"ui"},
    "os": {"storage", "ending", "ui"},
    "signal": {"ending"},
    "socket": {"ending"},
    "pathlib": {"storage", "ui"},
    "tempfile": {"storage", "ui"},
    "argparse": {"cli", "flags"},
    "subprocess": set(),
    "pickle": set(),
    "marshal": set(),
    "shelve": set(),
    "dill": set(),
    "cloudpickle": set(),
    "joblib": set(),
}

FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "__init__.py"
)
PAGES = sorted((ROOT.parent / "pages").glob("*.py"))


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


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
    told = [f"{file}: {', '.join(names)}" for file, names in found if names]
    # As a message, since pytest shortens what it says of long lists.
    assert not told, "\n".join(told)


def test_there_are_files_to_look_at():
    assert len(FILES) > len(LAYERS)
    assert PAGES


def test_every_part_has_its_place_in_the_table():
    assert {layer_of(path) for path in FILES} - {"__main__"} <= set(LAYERS)


def test_imports_point_down():
    def wrong(path):
        layer = layer_of(path)
        if layer == "__main__":
            allowed = {"cli", "ending"}
        else:
            allowed = set(LAYERS[: LAYERS.index(layer) + 1])
        return {
            name
            for name in imported(path)
            if name == "attnlab"
            or (name.startswith("attnlab.") and name.split(".")[1] not in allowed)
        }

    assert_nothing(wrong)


def test_nothing_imports_the_parts_that_read_everything():
    readers = {"app", "pages", "tests", "benchmarks", "tools"}

    def wrong(path):
        return {name for name in imported(path) if name.split(".")[0] in readers}

    assert_nothing(wrong)


def test_reserved_modules_stay_in_their_parts():
    def wrong(path):
        layer = layer_of(path)
        return {
            name
            for name in imported(path)
            if layer not in RESERVED.get(name.split(".")[0], {layer})
        }

    assert_nothing(wrong)


# Functions that only some parts may call, and which.
CALLED_IN = {
    "print": {"cli"},
    "open": {"storage", "ui"},
    "input": set(),
    "breakpoint": set(),
    "exec": set(),
    "eval": set(),
}


def test_only_the_command_line_prints_and_only_storage_opens_files():
    def wrong(path):
        layer = layer_of(path)
        return {name for name in calls(path) if layer not in CALLED_IN.get(name, {layer})}

    assert_nothing(wrong)


# What of Streamlit is called through a part of ours, and the file that has it.
WRAPPED = {
    "fragment": "fragments.py",
    "vega_lite_chart": "drawn.py",
    "altair_chart": "drawn.py",
    **dict.fromkeys(("error", "warning", "toast", "exception", "write"), "outside.py"),
}


def test_streamlit_is_called_through_the_parts_that_wrap_it():
    def wrong(path):
        return {
            ast.unparse(node)
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Attribute)
            and ast.unparse(node.value) == "st"
            and WRAPPED.get(node.attr, path.name) != path.name
        }

    assert_nothing(wrong, [*FILES, *PAGES])


def test_the_package_itself_only_exports():
    (docstring, *statements) = tree_of(ROOT / "__init__.py").body
    assert isinstance(docstring, ast.Expr)
    # It is imported before the entry point of the command line, which Ctrl-C does not wait for.
    (early,) = (one for one in statements if isinstance(one, ast.If))
    assert ast.unparse(early) == "if sys.argv[:1] == ['-m']:\n    end_when_interrupted(Doing())"
    rest = [one for one in statements if one is not early]
    assert all(isinstance(one, ast.Import | ast.ImportFrom | ast.Assign) for one in rest)
    for name in attnlab.__all__:
        assert hasattr(attnlab, name)
    assert sorted(attnlab.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(),
                                                     name)) == attnlab.__all__  # fmt: skip
