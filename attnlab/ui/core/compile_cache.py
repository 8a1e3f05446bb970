"""Compiled programs kept on disk, so that they are there when the app starts again."""

import os
from pathlib import Path

import jax
from platformdirs import user_cache_path

from attnlab.ui.core.hosting import hosted

SWITCH = "ATTNLAB_CACHE"


def switch_on_cache() -> Path | None:
    """Keep compiled programs in the user's cache folder; the folder, or None if switched off.

    `ATTNLAB_CACHE=off` switches it off, another value names the folder; a shared server writes
    nothing to disk. Before the first program is compiled.
    """
    wanted = os.environ.get(SWITCH, "")
    if hosted() or wanted.lower() in ("off", "0", "no"):
        return None
    folder = Path(wanted) if wanted else user_cache_path("attnlab") / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        # A home that cannot be written to costs time, not the app.
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Ours are many small programs, which JAX would not keep by itself.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder
