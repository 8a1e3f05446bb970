"""Parts of the Processes page."""
