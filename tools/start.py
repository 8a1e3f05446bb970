"""Start attnlab from a fresh clone, with nothing but Python.

    python3 tools/start.py app [streamlit arguments]    open the app
    python3 tools/start.py test [pytest arguments]      run all tests
    python3 tools/start.py lint                         check style and layout of the code

The first time this makes a virtual environment in `.venv` and installs the requirements there;
later only what changed in them. It works from any folder and needs no active environment.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
# What is installed: the digest of each requirements file. Away while an installation goes on,
# so that an interrupted one is noticed.
STAMP = ENVIRONMENT / "installed.json"
LEAST_PYTHON = (3, 11)

RUNTIME = ("requirements.txt",)
# The last file includes those before it.
DEVELOPMENT = ("requirements.txt", "requirements-dev.txt")

# Of each task: the requirements it needs, and the modules to run one after the other.
TASKS = {
    "app": (RUNTIME, [["streamlit", "run", "app.py"]]),
    "test": (DEVELOPMENT, [["pytest"]]),
    "lint": (DEVELOPMENT, [["ruff", "check"], ["ruff", "format", "--check"]]),
}
# `test` without arguments: two at a time, and those of a browser by the file, since a file's
# tests share a server.
ALL_TESTS = [
    ["pytest", "tests/unit", "tests/app", "-n", "2"],
    ["pytest", "tests/e2e", "-n", "2", "--dist", "loadfile"],
]


def main(arguments):
    """Run one task; the exit status is that of its program."""
    if sys.version_info < LEAST_PYTHON:
        needed, found = (".".join(map(str, v[:2])) for v in (LEAST_PYTHON, sys.version_info))
        return fail(f"Python {needed} or newer is needed, this is {found}.")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    task, rest = arguments[0], arguments[1:]
    if task not in TASKS:
        return fail(f"'{task}' is none of {', '.join(TASKS)}.")
    requirements, modules = TASKS[task]
    if arguments == ["test"]:
        modules = ALL_TESTS
    problem = prepare_environment(requirements)
    if problem:
        return fail(problem)
    os.chdir(ROOT)
    commands = [[str(PYTHON), "-m", *module, *rest] for module in modules]
    for command in commands[:-1]:
        status = subprocess.call(command)
        if status != 0:
            return status
    return become(commands[-1])


def fail(message):
    """Say what is wrong in one line; the exit status."""
    print(f"start.py: {message}", file=sys.stderr)
    return 1


def tell(message):
    """Say what is being done."""
    print(f"start.py: {message}", flush=True)


def prepare_environment(requirements):
    """Make `.venv` hold these requirements; what went wrong, or None."""
    installed = read_stamp()
    if installed is None or not environment_works():
        problem = create_environment()
        if problem:
            return problem
        installed = {}
    wanted = {name: digest(ROOT / name) for name in requirements}
    if wanted.items() <= installed.items():
        return None
    tell(f"Installing {requirements[-1]}; the first time takes a few minutes …")
    STAMP.unlink()
    install = ["pip", "install", "--disable-pip-version-check", "-r", str(ROOT / requirements[-1])]
    status = subprocess.call([str(PYTHON), "-m", *install])
    # Where pip gives up by itself it has changed nothing yet.
    write_stamp(installed if status else {**installed, **wanted})
    if status:
        return "Installing failed, see pip's last lines. Once the cause is gone, run this again."
    return None


def create_environment():
    """Make an empty `.venv`, in place of a broken one if need be; what went wrong, or None."""
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        return "This Python lacks its venv module. On Debian and Ubuntu: apt install python3-venv"
    tell(f"Making a virtual environment in {ENVIRONMENT} …")
    try:
        if ENVIRONMENT.exists():
            shutil.rmtree(ENVIRONMENT)
    except OSError as error:
        return f"The broken {ENVIRONMENT} cannot be removed ({error.strerror}). Remove it by hand."
    if subprocess.call([sys.executable, "-m", "venv", str(ENVIRONMENT)]) != 0:
        return "Making the virtual environment failed, see the lines above."
    write_stamp({})
    return None


def environment_works():
    """Whether its Python runs, is new enough and has its packages where it looks for them."""
    check = f"import pip, sys; sys.exit(sys.version_info < {LEAST_PYTHON})"
    try:
        return subprocess.call([str(PYTHON), "-c", check], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def read_stamp():
    """The digests of what is installed, or None if that is not known."""
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_stamp(installed):
    """Note what is installed."""
    STAMP.write_text(json.dumps(installed), encoding="utf-8")


def digest(path):
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def become(command):
    """Run the command in place of this program; the exit status where that is impossible."""
    if os.name != "nt":
        sys.stdout.flush()
        os.execv(command[0], command)
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The program got it too, and ends in its own way.
            continue


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(fail(f"{error.strerror or error}: {error.filename or ROOT}."))
