"""The In context page: what a model infers from the context, and how it learns to."""
