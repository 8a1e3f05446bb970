"""What a server has before its engine is there: nothing here imports `attnlab`."""
