"""The library of runs: the library of a session, what it keeps, and its page."""
