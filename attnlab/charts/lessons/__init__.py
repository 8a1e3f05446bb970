"""Charts of the lesson pages."""
