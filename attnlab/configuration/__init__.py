"""What users can set: options with bounds and help, as JSON, and numbers as text."""

# For scripts that the app writes.
from attnlab.configuration.number_text import show_measured

__all__ = [
    "show_measured",
]
