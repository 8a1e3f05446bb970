"""Parts of the Sequence to sequence page."""
