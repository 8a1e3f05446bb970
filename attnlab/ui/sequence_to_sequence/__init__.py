"""The parts of the page Sequence to sequence."""
