"""Many runs for a command: where they are carried out, what is told meanwhile, what is kept."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from attnlab.command_line.ending import Doing
from attnlab.command_line.keeping import open_library
from attnlab.command_line.numbers import whole_number
from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes
from attnlab.configuration.options import OptionError
from attnlab.runs.library import LibraryError
from attnlab.runs.result import Result
from attnlab.training.experiment import Experiment

_MOST_WORKERS = 1_000


def add_reuse(command: argparse.ArgumentParser) -> None:
    """Add the flags that say which runs of the library are not trained again."""
    reuse = command.add_mutually_exclusive_group()
    reuse.add_argument(
        "--again", action="store_true", help="train every run, also those the library has"
    )
    reuse.add_argument(
        "--any-version",
        action="store_true",
        help="reuse runs of the library that other versions of attnlab or JAX made",
    )


def take_reuse(parsed: dict[str, Any]) -> dict[str, bool]:
    """Take the values of these flags out of the parsed arguments, for `carry_out`."""
    return {name: parsed.pop(name, False) for name in ("again", "any_version")}


def carry_out(
    experiments: Sequence[Experiment],
    executor: Executor | None,
    doing: Doing,
    *,
    what: str,
    **reuse: bool,
) -> list[Result]:
    """Return the results of the runs, those of the user's library included, and report progress.

    `what` are the words behind their number; `reuse` are `again` and `any_version` of `run_all`.
    """
    total, library, results = len(experiments), open_library(), []
    kept = "" if library is None else "; those that ended are in the library"
    doing.words = f"at run 0 of {total:,}{kept}"
    print(f"{total:,} runs {what} …", file=sys.stderr)
    began = time.perf_counter()
    for result in _told(run_all(experiments, executor, library=library, **reuse)):
        results.append(result)
        done, seconds = len(results), time.perf_counter() - began
        doing.words = f"at run {done:,} of {total:,}{kept}"
        left = f", about {seconds / done * (total - done):,.0f} s left" if done < total else ""
        state = result.reason or result.state
        print(f"run {done:,} of {total:,}: {state}{left}", file=sys.stderr)
    if library is not None:
        library.close()
    return results


def _told(results: Iterator[Result]) -> Iterator[Result]:
    """The results; what the library could not keep is told behind the last."""
    try:
        yield from results
    except LibraryError as error:
        print(f"attnlab: not all runs are in the library. {error}", file=sys.stderr)


@contextmanager
def executor_of(workers: str | None, address: str | None) -> Iterator[Executor | None]:
    """So many worker processes, a Dask scheduler's workers, or None for this process."""
    if workers is not None:
        with Processes(whole_number("workers", workers, 1, _MOST_WORKERS)) as pool:
            yield pool
    elif address is not None:
        with _client(address) as client:
            # A lost task is tried again by Dask itself, as `allowed-failures` says.
            yield client.get_executor(retries=0)
    else:
        yield None


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        remedy = "Install it with `pip install attnlab[dask]`"
        raise OptionError("dask", address, "Dask is not installed here", remedy) from None
    try:
        return Client(address)
    except TypeError:
        problem = "a TLS address needs certificates"
        remedy = "Set `distributed.comm.tls` in Dask's configuration, or name a tcp:// address"
        raise OptionError("dask", address, problem, remedy) from None
    except (OSError, TimeoutError, ValueError) as error:
        remedy = "Name the address of a scheduler that runs, such as tcp://127.0.0.1:8786"
        raise OptionError("dask", address, f"no answer from there ({error})", remedy) from None
