"""The table of a task with a source and a target."""
