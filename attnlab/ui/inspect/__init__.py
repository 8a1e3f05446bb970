"""Parts of the Inspect page."""
