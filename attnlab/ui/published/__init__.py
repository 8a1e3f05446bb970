"""Parts of the page A published question."""
