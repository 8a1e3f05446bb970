"""The command line as a process: signals, closed pipes, writes that fail, and its silence."""

import os
import signal
import subprocess
import sys
import threading
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest

from attnlab.runs.storage import load_run

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--length", "4", "--train-size", "200", "--test-size", "100")
LONG = ("train", "--steps", "100000", *SMALL)
PATIENCE = 120
FULL = Path("/dev/full")

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX"),
    pytest.mark.slow,
]
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


@pytest.fixture(autouse=True)
def heard_signals():
    """Processes that are started inherit whether SIGINT is ignored, as in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGHUP, hangup)


@contextmanager
def started(*arguments, program=("-m", "attnlab"), variables=None, **streams):
    # Nor with programs that other tests have kept, since the command line keeps none.
    left_out = ("PYTHONUNBUFFERED", "JAX_COMPILATION_CACHE_DIR")
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **(variables or {})}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    command = [sys.executable, *map(str, program), *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, encoding="utf-8", **pipes
    ) as process:
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        try:
            yield process
        finally:
            late.cancel()
            process.kill()


def read_until(stream, words):
    for line in stream:
        if words in line:
            return
    raise AssertionError(f"It ended without {words!r}")


def interrupted(process):
    """Its status and the rest of what it says."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("arguments", "after", "said"),
    [
        (LONG, "Drawing data", "interrupted while drawing data and compiling; nothing was saved."),
        ((*LONG, "--json"), "step 1,000 of", ""),
    ],
)
def test_ctrl_c_ends_with_one_line_that_says_how_far_it_came(arguments, after, said):
    with started(*arguments) as process:
        read_until(process.stderr, after)
        status, out, err = interrupted(process)
    assert (status, out) == (130, "")
    # Steps that were under way may still have been reported.
    *steps, last = err.splitlines()
    assert all(line.startswith("step ") for line in steps)
    if said:
        assert last == f"attnlab: {said}"
    else:
        reached, _, rest = last.removeprefix("attnlab: interrupted at step ").partition(" of ")
        assert int(reached.replace(",", "")) >= int(after.split()[1].replace(",", ""))
        assert rest == "100,000; nothing was saved."


SEVERAL = ("--model", "linear", "--steps", "20", "--seeds", "2", *SMALL)
COMPILING = {
    ("train", *SMALL): signal.SIGTERM,
    ("probe", "--preset", "mess3-belief"): signal.SIGHUP,
    ("compare", *SEVERAL): signal.SIGINT,
    ("compare", "--workers", "1", *SEVERAL): signal.SIGTERM,
    ("reproduce", "blog-post"): signal.SIGHUP,
    # Of processes that compile for a second or more: others may end before the signal.
    ("sample", "causal-tree"): signal.SIGINT,
    ("optimum", "mess3"): signal.SIGTERM,
}


@pytest.mark.parametrize("arguments", COMPILING, ids=" ".join)
def test_a_signal_while_a_command_compiles_ends_it_with_one_line(arguments):
    by = COMPILING[arguments]
    with started(*arguments, variables={"JAX_LOG_COMPILES": "1"}) as process:
        read_until(process.stderr, "Compiling jit")
        process.send_signal(by)
        out, err = process.communicate()
    assert (process.returncode, out) == (128 + by, "")
    assert err.splitlines()[-1].startswith("attnlab: interrupted ")
    assert "Traceback" not in err


COMPUTES = """
import os, signal, sys
import jax, jax.numpy as jnp
from attnlab.command_line.cli import status_of

def command(progress):
    many = lambda x: jax.lax.fori_loop(0, 10**9, lambda _, y: jnp.sin(y @ y), x)
    # XLA computes it in a thread.
    computed = jax.jit(many)(jnp.ones((300, 300)))
    os.kill(os.getpid(), signal.SIGINT)
    computed.block_until_ready()

sys.exit(status_of(command))
"""


def test_a_signal_does_not_wait_for_threads_of_compiled_code():
    with started(program=("-c", COMPUTES)) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "attnlab: interrupted while starting.\n")


def test_an_interrupted_run_is_saved_and_resumes_as_the_run_in_one_go(tmp_path):
    half, resumed, whole = (tmp_path / name for name in ("half", "resumed", "whole"))
    long = ("train", "--steps", "10000", *SMALL)
    with started(*long, "--save", str(whole)) as process:
        process.communicate()
    for by in (signal.SIGINT, signal.SIGTERM, "a closed pipe"):
        with started(*long, "--save", str(half)) as process:
            read_until(process.stderr, "step ")
            if by == "a closed pipe":
                process.stderr.close()
                assert process.wait() == 141
            else:
                process.send_signal(by)
                # A closing terminal sends several.
                process.send_signal(signal.SIGHUP)
                last = process.communicate()[1].splitlines()[-1]
                assert process.returncode in (128 + by, 128 + signal.SIGHUP)
                assert last.endswith(f"; the run is saved, and `--load {half}` resumes it.")
        assert 0 < int(load_run(half).state.step) < 10_000
        with started("train", "--load", str(half), "--save", str(resumed)) as process:
            process.communicate()
        assert resumed.read_bytes() == whole.read_bytes()
        half.unlink()


def test_kept_programs_are_loaded_without_a_warning_for_each(tmp_path):
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        # The value that JAX sets.
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }
    (tmp_path / "bin").mkdir()
    # The first one keeps the programs, and the others load them.
    by_module, by_name = ("-m", "attnlab"), installed_program(tmp_path / "bin")
    for program in (by_module, by_module, by_name):
        with started("sample", "markov", program=program, variables=kept) as process:
            err = process.communicate()[1]
        assert (process.returncode, err) == (0, "")
    assert any((tmp_path / "programs").iterdir())


WORKERS = """
import os, sys, time
from attnlab import Processes

if __name__ == "__main__":
    with Processes(2) as pool:
        for _ in range(2):
            pool.submit(os.write, 1, b"working\\n")
            last = pool.submit(time.sleep, 600)
        last.result()
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_script_that_started_them_however_it_ends(tmp_path, by):
    script = tmp_path / "script.py"
    script.write_text(WORKERS)
    with started(program=(script,)) as process:
        for _ in range(2):
            read_until(process.stdout, "working")
        process.send_signal(by)
        # The pipes close when the last process that holds them has ended.
        process.communicate(timeout=30)
    assert process.returncode == -by


def test_ctrl_c_in_a_terminal_ends_a_comparison_and_its_workers():
    many = ("--seeds", "100", "--workers", "2")
    with started(
        "compare", "--model", "linear", "--steps", "20", *SMALL, *many, start_new_session=True
    ) as process:
        read_until(process.stderr, "run 1 of 100")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    *runs, last = err.splitlines()
    assert (process.returncode, out) == (130, "")
    assert all(line.startswith("run ") for line in runs)
    assert last.startswith("attnlab: interrupted at run ")


def installed_program(folder):
    """A script such as pip makes of the entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["attnlab"].partition(":")
    script = folder / "attnlab"
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    return (script,)


def test_the_installed_command_goes_by_its_name(tmp_path):
    with started("train", "--colour", program=installed_program(tmp_path)) as process:
        _, err = process.communicate()
    assert err.endswith("See `attnlab --help`.\n")


def test_a_closed_pipe_is_met_with_silence():
    reader, writer = os.pipe()
    os.close(reader)
    with started("train", "--steps", "2", *SMALL, stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate()
    assert process.returncode == 141
    assert all(line.startswith(("Drawing", "step ")) for line in err.splitlines())


@needs_full
def test_a_result_that_cannot_be_written_is_reported_in_one_line():
    with (
        FULL.open("w") as full,
        started("optimum", "markov", "--length", "3", "--json", stdout=full) as process,
    ):
        _, err = process.communicate()
    assert process.returncode == 1
    *before, last = err.splitlines()
    assert last == "attnlab: the output could not be written: No space left on device."
    assert all(line.startswith("Computing") for line in before)


def test_progress_into_a_closed_pipe_ends_it_too():
    with started(*LONG, "--json") as process:
        process.stderr.readline()
        process.stderr.close()
        assert process.stdout.read() == ""
        assert process.wait() == 141


def shell(line):
    """Status, standard output and standard error of a line of the shell."""
    command = line.format(attnlab=f"'{sys.executable}' -m attnlab")
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_without_standard_error_results_are_the_same():
    status, out, _ = shell("{attnlab} optimum markov --length 3 --json 2>&-")
    assert status == 0
    assert out.startswith("{")


def test_without_standard_output_it_says_so():
    status, out, err = shell("{attnlab} sample markov >&-")
    assert (status, out) == (1, "")
    assert err == "attnlab: the output could not be written: standard output is closed.\n"
