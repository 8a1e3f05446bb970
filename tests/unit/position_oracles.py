"""Positional encodings from their formulas, one number at a time in float64."""

import math

import numpy as np


def none(length, width):
    return np.zeros((length, 0))


def scalar(length, width, period=20.0):
    return np.array([[day / period] for day in range(1, length + 1)])


def sinusoidal(length, width, base=10_000.0):
    table = np.zeros((length, width))
    for t in range(length):
        for component in range(width):
            i = component // 2
            angle = t / base ** (2 * i / width)
            table[t, component] = math.sin(angle) if component == 2 * i else math.cos(angle)
    return table


def blog_described(length, width, base=20.0):
    """Component 2i - 1 is sin(t / L^(2i/d)) and component 2i is cos(t / L^(2i/d)), i ≥ 1."""
    table = np.zeros((length, width))
    for t in range(1, length + 1):
        for i in range(1, width + 1):
            angle = t / base ** (2 * i / width)
            for component, wave in ((2 * i - 1, math.sin), (2 * i, math.cos)):
                if component <= width:
                    table[t - 1, component - 1] = wave(angle)
    return table


def blog_published(length, width, base=20.0):
    """Component i is sin(t / L^(i/d)) for even i and cos(t / L^((i-1)/d)) for odd, i ≥ 1."""
    table = np.zeros((length, width))
    for t in range(1, length + 1):
        for i in range(1, width + 1):
            if i % 2 == 0:
                table[t - 1, i - 1] = math.sin(t / base ** (i / width))
            else:
                table[t - 1, i - 1] = math.cos(t / base ** ((i - 1) / width))
    return table


def rotary(rows, base=10_000.0):
    """Components 2i, 2i + 1 as a complex number, times e^(1j t base^(-2i/d)); an odd one stays."""
    rows = np.asarray(rows, dtype=np.float64)
    turned, width = rows.copy(), rows.shape[1] // 2 * 2
    for t in range(len(rows)):
        for i in range(width // 2):
            phase = 1j * t * base ** (-2 * i / width)
            number = complex(*rows[t, 2 * i : 2 * i + 2]) * np.exp(phase)
            turned[t, 2 * i : 2 * i + 2] = number.real, number.imag
    return turned


def alibi(length, slope=0.5):
    return np.array([[-slope * abs(q - k) for k in range(length)] for q in range(length)])


TABLES = {
    "none": none,
    "scalar": scalar,
    "sinusoidal": sinusoidal,
    "blog-described": blog_described,
    "blog-published": blog_published,
}

# Of encodings that act on scores: how rows turn, and what is added to the scores of a length.
SCORES = {"rotary": (rotary, lambda length: None), "alibi": (lambda rows: rows, alibi)}
