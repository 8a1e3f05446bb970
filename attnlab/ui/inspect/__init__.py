"""Parts of the tab “Where it looks”."""
