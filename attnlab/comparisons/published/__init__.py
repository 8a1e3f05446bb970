"""A published comparison of attention with a linear model: its figures, its runs, what they say."""
