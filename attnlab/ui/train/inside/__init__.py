"""Views of what is inside a model: what each draws of a trace, and how it is read."""
