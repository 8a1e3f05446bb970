"""What every page stands on: its frame, its fragments, its charts, its words, its session."""
