"""The library of runs: which one a session has, what is kept in it, and its page."""
