"""Fourier components of an embedding of numbers, by which models add modulo p."""

import numpy as np
from jaxtyping import Float


def fourier_power(embedding: Float[np.ndarray, "numbers width"]) -> Float[np.ndarray, " half"]:
    """Return the share of an embedding's power at each frequency k = 1 … p // 2.

    With F_k = Σ_a E_a exp(-2πi k a / p), the power at k is |F_k|² + |F_(p-k)|², summed over the
    columns. The mean of the rows, k = 0, has no part in it.

    >>> angles = 2 * np.pi * 3 * np.arange(11) / 11
    >>> fourier_power(np.stack([np.cos(angles), np.sin(angles)], axis=1)).round(3).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0]

    Args:
        embedding: Row a is the vector of the number a, for a = 0 … p - 1.

    Returns:
        The shares by frequency, which sum to 1.

    References:
        Nanda et al. (2023), "Progress measures for grokking via mechanistic interpretability",
        section 4.1.
    """
    numbers = len(embedding)
    power = (np.abs(np.fft.rfft(embedding, axis=0)[1:]) ** 2).sum(axis=1)
    # For an even p the frequency p / 2 is its own mirror image.
    power = power * np.where(2 * np.arange(1, power.size + 1) == numbers, 1, 2)
    return power / power.sum()


def fourier_circle(
    embedding: Float[np.ndarray, "numbers width"], frequency: int
) -> Float[np.ndarray, "numbers 2"]:
    """Return the coordinates of every number along the cosine and sine directions of a frequency.

    The directions are the unit vectors along Σ_a cos(2π k a / p) E_a and Σ_a sin(2π k a / p) E_a.
    If the embedding uses the frequency, the numbers lie on a circle, in steps of k / p of a turn.
    """
    angles = 2 * np.pi * frequency * np.arange(len(embedding)) / len(embedding)
    directions = embedding.T @ np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return embedding @ (directions / np.linalg.norm(directions, axis=0))
