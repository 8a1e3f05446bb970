"""The tables of a library, and how those of an earlier version become them."""

import sqlite3

from attnlab.runs.library.library_error import LibraryError, library_error

# Tells a library from the databases of other programs: the letters "attn".
_APPLICATION = 0x6174746E

# Entry n leads from version n to the next; a new library goes through all of them. What is searched
# and sorted stands apart from what is only shown, so that searching reads little. A number that was
# given once is never given again, since a run that goes on writes to its own.
_STEPS = (
    (
        """
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            settings TEXT NOT NULL,
            seed INTEGER NOT NULL,
            generator TEXT NOT NULL,
            model TEXT NOT NULL,
            length INTEGER NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL,
            steps INTEGER NOT NULL,
            seconds REAL NOT NULL,
            parameters INTEGER NOT NULL,
            nll REAL,
            nll_stderr REAL,
            accuracy REAL,
            accuracy_stderr REAL,
            name TEXT NOT NULL,
            note TEXT NOT NULL,
            words TEXT NOT NULL,
            attnlab TEXT NOT NULL,
            jax TEXT NOT NULL,
            date TEXT NOT NULL,
            file TEXT,
            file_bytes INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE details (
            number INTEGER PRIMARY KEY,
            experiment TEXT NOT NULL,
            tests BLOB NOT NULL,
            curve BLOB NOT NULL
        )
        """,
        "CREATE TABLE tags (tag TEXT, number INTEGER, PRIMARY KEY (tag, number)) WITHOUT ROWID",
        "CREATE INDEX tags_by_number ON tags (number)",
        "CREATE INDEX runs_by_date ON runs (date)",
        "CREATE INDEX runs_by_identity ON runs (settings, seed, date)",
        "CREATE INDEX runs_by_generator ON runs (generator, date)",
        "CREATE INDEX runs_by_model ON runs (model, date)",
    ),
    # The bin, how often a run went on with other settings, and what the settings were hashed by.
    (
        "ALTER TABLE runs ADD COLUMN deleted TEXT",
        "ALTER TABLE runs ADD COLUMN changes INTEGER NOT NULL DEFAULT 0",
        "CREATE TABLE about (form TEXT NOT NULL)",
        "INSERT INTO about VALUES ('')",
        "CREATE INDEX runs_in_bin ON runs (deleted) WHERE deleted IS NOT NULL",
    ),
    # Of tasks.
    ("ALTER TABLE runs ADD COLUMN exact_match REAL",),
    # Empty for runs that were kept before: they are reused only where any version will do.
    (
        "ALTER TABLE runs ADD COLUMN jaxlib TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN platform TEXT NOT NULL DEFAULT ''",
    ),
    # The loss minus that of the exact predictions.
    (
        "ALTER TABLE runs ADD COLUMN excess REAL",
        "ALTER TABLE runs ADD COLUMN excess_stderr REAL",
    ),
)
VERSION = len(_STEPS)
# The oldest that can be read as it is, where it may not be written: later ones have columns more.
READABLE = 2


def version_of(connection: sqlite3.Connection, where: str) -> int:
    """Of the tables that are there, 0 if none are.

    Refused, with a `LibraryError`: tables of another program, or of a newer attnlab.
    """

    def number(statement: str) -> int:
        return connection.execute(statement).fetchone()[0]

    tables = number("SELECT count(*) FROM sqlite_master")
    if tables and number("PRAGMA application_id") != _APPLICATION:
        raise library_error(where, sqlite3.SQLITE_NOTADB)
    version = number("PRAGMA user_version")
    if version > VERSION:
        raise LibraryError(
            f"The library {where} is of a newer attnlab: its version is {version}, and this one "
            f"reads up to {VERSION}. Update attnlab, or name another folder in `ATTNLAB_LIBRARY`."
        )
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Make tables of that version those of `VERSION`, in a transaction that is under way."""
    for statements in _STEPS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
