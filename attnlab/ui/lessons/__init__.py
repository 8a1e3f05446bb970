"""Parts of the lesson pages."""
