"""Whether this server is shared, as its environment says. Needed before the engine is there."""

import os

_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")


def hosted() -> bool:
    """Return whether strangers share this server: `ATTNLAB_HOSTED=1`."""
    text = os.environ.get("ATTNLAB_HOSTED", "")
    if text.lower() not in _YES + _NO:
        raise ValueError(f"`ATTNLAB_HOSTED` is {text!r}. Set it to 1 or 0.")
    return text.lower() in _YES
