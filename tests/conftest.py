"""Strict modes of JAX, fixed draws of hypothesis and kept programs, for every test."""

import gc
import os
import sys
from pathlib import Path

import hypothesis
import jax
import pytest

from tests import check_calls

# Collections go through all that was imported: a tenth of the time with the usual thresholds.
gc.set_threshold(100_000, 20, 100)

check_calls()

# Shapes that meet must match: silent broadcasting of ranks hides mistakes.
jax.config.update("jax_numpy_rank_promotion", "raise")
# A random key that is drawn from twice gives the same numbers twice.
jax.config.update("jax_debug_key_reuse", True)

# Compilation makes first examples slow, so time limits would fail by chance.
hypothesis.settings.register_profile("attnlab", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("attnlab")

# Most of the time would go into compiling what was compiled the last time, or by another worker.
_KEPT = {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".pytest_cache" / "programs"),
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
for name, value in _KEPT.items():
    jax.config.update(name, value)
    # For the processes that tests start.
    os.environ.setdefault(name.upper(), str(value))

# Tests compile many small programs and run each of them briefly: with the emitters of fused loops
# that XLA had before, with few optimisations and in one piece they take half the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1",
)

# Nothing that tests do belongs into the library of the user who runs them.
os.environ["ATTNLAB_LIBRARY"] = "off"
# XLA says of every kept program that another processor may have compiled it.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.fixture(scope="module", autouse=True)
def _main_module_stays():
    """A page without a browser puts itself in its place, and a spawned process would draw it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        yield


# Of the 65,530 maps of memory that a process may have on Linux.
_MOST_MAPS = 25_000


@pytest.fixture(scope="module", autouse=True)
def _programs_end_before_the_maps():
    """Every compiled program takes maps of memory, and XLA crashes where there are no more."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > _MOST_MAPS:
        jax.clear_caches()
