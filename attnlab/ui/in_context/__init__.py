"""The In context page: what a model reads off the context, and how it comes to do so."""
