"""Views of the inside of a model: for each view its chart and how to read the chart."""
