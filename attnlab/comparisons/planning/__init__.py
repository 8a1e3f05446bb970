"""Which runs to compare: named comparisons, their links, and how long they will take."""
