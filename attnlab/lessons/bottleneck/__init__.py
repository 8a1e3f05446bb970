"""Why attention was invented: what a state of fixed size can hand over, measured."""
