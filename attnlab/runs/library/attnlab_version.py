"""Which attnlab this is."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("attnlab")
    # A copy that runs from its own folder need not be installed.
    except PackageNotFoundError:
        return ""


# Empty if it is not known. Read once, since Python looks for it in files.
ATTNLAB_VERSION = _installed()
