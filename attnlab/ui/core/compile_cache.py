"""Compiled programs kept on disk, so that they are there when the app starts again."""

import logging
from pathlib import Path

import jax
from platformdirs import user_cache_path

from attnlab.configuration.environment import read_folder
from attnlab.configuration.options import OptionError
from attnlab.ui.core.hosting import hosted

SWITCH = "ATTNLAB_CACHE"


def switch_on_cache() -> Path | None:
    """Keep compiled programs in the user's cache folder; the folder, or None if switched off.

    `ATTNLAB_CACHE=off` switches it off, another value names the folder; a shared server writes
    nothing to disk. Call it before the first program is compiled.
    """
    try:
        folder = read_folder(SWITCH, user_cache_path("attnlab") / "programs")
    except OptionError as error:
        logging.getLogger(__name__).warning("%s Compiled programs are not kept.", error)
        return None
    if hosted() or folder is None:
        return None
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
