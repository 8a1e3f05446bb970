"""Stored runs: history, run file, link, script, and past runs."""
