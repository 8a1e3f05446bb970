"""What the lesson pages compute."""
