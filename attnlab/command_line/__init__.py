"""The command line, and how it ends before its time."""
