"""What the softmax does to large scores."""
