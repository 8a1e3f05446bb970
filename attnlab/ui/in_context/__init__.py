"""The tab “Which algorithm”: what a model infers from the context, and how it learns to."""
