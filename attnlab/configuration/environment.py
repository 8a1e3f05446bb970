"""Environment variables, all read here, so that each accepts the same values."""

import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path

import jax

from attnlab.configuration.options import OptionError

# Files with the memory limit of a container, for both versions of Linux's control groups.
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_PACKAGE = Path(__file__).resolve().parents[1]
_XLA_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_YES = ("on", "true", "yes", "1")
_NO = ("off", "false", "no", "0")


def read_folder(name: str, usual: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder that a variable names; `usual` for "on" or no value, None for "off".

    Raises:
        OptionError: If the value begins with `~` and a user that does not exist.

    >>> read_folder("ATTNLAB_CACHE", Path("here"), {"ATTNLAB_CACHE": "false"}) is None
    True
    """
    text = environment.get(name, "").strip()
    if text.lower() in _NO:
        return None
    if text.lower() in (*_YES, ""):
        return usual
    try:
        return Path(text).expanduser()
    except RuntimeError:
        remedy = "Name a folder without `~`, or set it to off"
        raise OptionError(name, text, "this user has no home folder", remedy) from None


def read_count(name: str) -> int | None:
    """Return the positive integer in an environment variable, or None if it is not set.

    Raises:
        OptionError: If the variable has another value.
    """
    text = os.environ.get(name, "")
    if not text:
        return None
    if not text.isdecimal() or not int(text[:9]) >= 1 or len(text) > 9:
        raise OptionError(name, text, "not a whole number from 1", "Set it to one")
    return int(text)


def app_folder() -> Path:
    """Return the folder of `app.py` and `pages/`.

    A wheel has them inside the package, a clone next to it.

    >>> (app_folder() / "pages" / "train.py").exists()
    True
    """
    inside = _PACKAGE / "_app"
    return inside if inside.exists() else _PACKAGE.parent


def bytes_of_machine() -> float:
    """Return `ATTNLAB_MEMORY` or the memory of container or machine, in bytes; inf if unknown.

    Raises:
        OptionError: if the variable is not a whole number of megabytes from 1.
    """
    if megabytes := read_count("ATTNLAB_MEMORY"):
        return megabytes * 1e6
    found = [math.inf]
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limits = [limit.read_text().strip() for limit in _CONTAINER_LIMITS if limit.exists()]
    return min(*found, *(int(text) for text in limits if text.isdecimal()), math.inf)


def quiet_xla() -> None:
    """Silence XLA's log, here and in processes started from here; only programs should call it.

    For every cached program XLA reports that another processor may have compiled it. A level that
    the user has chosen stays.
    """
    # The value that JAX sets when it is imported, unless the user has set one.
    if os.environ.get(_XLA_LEVEL) == "1" and "JAX_LOGGING_LEVEL" not in os.environ:
        os.environ[_XLA_LEVEL] = "3"
        jax.config.update("jax_logging_level", "CRITICAL")
        # JAX's own messages, which it silences with those of XLA, stay.
        jax.config.update("jax_logging_level", None)
        for name in ("jax", "jaxlib"):
            logging.getLogger(name).setLevel(logging.NOTSET)


def check_devices() -> None:
    """Find the devices that JAX computes on.

    Raises:
        OptionError: If `JAX_PLATFORMS` names one that does not exist.
    """
    try:
        jax.devices()
    except (AssertionError, RuntimeError):
        name = "JAX_PLATFORMS"
        problem, remedy = "JAX has no such device here", "Unset it, or set it to cpu"
        raise OptionError(name, os.environ.get(name, ""), problem, remedy) from None
