"""What a visitor sees first, before the engine is there: nothing here imports `attnlab`."""
