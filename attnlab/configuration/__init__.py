"""Options with bounds and help, their JSON, environment variables, and numbers as text."""

# For scripts that the app writes.
from attnlab.configuration.number_text import show_measured as show_measured
