"""Strict modes of JAX, fixed draws of hypothesis and kept programs, for every test."""

import os
from pathlib import Path

import hypothesis
import jax

from tests import check_calls

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
