"""Parts of the Generators page."""
