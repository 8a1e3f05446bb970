"""The server's log, which visitors must not be able to fill."""

import logging
import traceback

# An error repeats what the browser sent, which may have 16 megabytes.
_MOST_LETTERS, _MOST_LINES = 1_000, 200


def shorten_log() -> None:
    """Cut messages of all loggers to 1,000 letters, and tracebacks to 200 lines of as many."""
    make = logging.getLogRecordFactory()

    def make_short(*arguments, **rest) -> logging.LogRecord:
        record = make(*arguments, **rest)
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            # Handlers report a message whose arguments do not fit it.
            return record
        if len(message) > _MOST_LETTERS:
            record.msg, record.args = _cut(message), ()
        if record.exc_info and record.exc_info[1] is not None:
            # Handlers write this text where it is there.
            record.exc_text = _short_traceback(record.exc_info[1])
        return record

    logging.setLogRecordFactory(make_short)


def _short_traceback(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error)).rstrip("\n")
    lines = [_cut(line) for line in text.split("\n")]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "…"]
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"
