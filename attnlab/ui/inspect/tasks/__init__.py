"""Parts of the Inspect page for tasks, whose sequences are a source and its target."""
