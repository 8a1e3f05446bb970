"""Views of the inside of a model: the chart of each and how to read it."""
