"""`import attnlab` changes nothing of the program that imports it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
print(json.dumps([before, look()]))
"""


def printed_by(arguments, folder):
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
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


@pytest.mark.slow
def test_a_package_that_imports_attnlab_hears_ctrl_c_itself(tmp_path):
    package = tmp_path / "their"
    package.mkdir()
    # While Python looks for the module, its arguments are those of Python itself.
    (package / "__init__.py").write_text("import attnlab")
    (package / "module.py").write_text(
        "import os, signal, time\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('heard')\n"
    )
    assert printed_by(["-m", "their.module"], tmp_path) == "heard\n"
