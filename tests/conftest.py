"""Strict modes of JAX and fixed draws of hypothesis, for every test."""

import hypothesis
import jax

# Shapes that meet must match: silent broadcasting of ranks hides mistakes.
jax.config.update("jax_numpy_rank_promotion", "raise")
# A random key that is drawn from twice gives the same numbers twice.
jax.config.update("jax_debug_key_reuse", True)

# Compilation makes first examples slow, so time limits would fail by chance.
hypothesis.settings.register_profile("attnlab", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("attnlab")
