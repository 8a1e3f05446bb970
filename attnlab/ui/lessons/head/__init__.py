"""One attention head taken apart."""
