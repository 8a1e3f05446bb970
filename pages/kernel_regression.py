"""Kernel regression: attention as a weighted mean of near points, with a learned distance."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.lessons.curve_panel import (
    draw_controls,
    draw_equalities,
    draw_fit,
    draw_left_out,
)
from attnlab.ui.lessons.kit import beside
from attnlab.ui.lessons.metric_panel import draw_kernels
from attnlab.ui.shell import ensure_shell

ensure_shell()
text, picture = beside(
    "To predict y at a new x, average the y of known points, with more weight on nearer ones "
    "(Nadaraya–Watson, 1964). Attention does the same: the new x is the query, the known x are "
    "the keys, and their y are the values. It also learns what “near” means.",
    title="Kernel regression",
)
with text:
    curve = draw_controls()
with picture:
    draw_fit(curve)

st.header("The best bandwidth", anchor=False, divider="gray")
draw_left_out(curve)

st.header("The same by attention", anchor=False, divider="gray")
st.latex(
    r"f(x) = \sum_i \frac{e^{-\lVert x - x_i \rVert^2 / 2h^2}}"
    r"{\sum_j e^{-\lVert x - x_j \rVert^2 / 2h^2}}\; y_i"
    r" = \sum_i \operatorname{softmax}_i\!\left(-\tfrac{\lVert x - x_i \rVert^2}{2h^2}\right) y_i"
)
draw_equalities(curve)

st.header("Attention learns the kernel", anchor=False, divider="gray")
st.markdown(
    "Here each x has two features. One bandwidth weights both equally; W_Q and W_K can learn "
    "different weights. The scores are −‖x W_Q − xᵢ W_K‖²/2, and the loss is the leave-one-out "
    "error."
)
draw_kernels()
st.markdown(
    "**Try this**: choose `slanted`, where neither feature alone is irrelevant. Then choose "
    "`round`, where the fixed kernel has the right shape. There the learned kernel is better only "
    "on the training points."
)

draw_in_code(
    "import jax.random as jr\n"
    "import numpy as np\n\n"
    "from attnlab.lessons.kernel_regression import (\n"
    "    agreement_with_formula, attention_fit, dot_product, isotropic, learn_metric,\n"
    "    leave_one_out, on_circle\n"
    ")\n"
    "from attnlab.lessons.regression_data import CURVES, PLANES, draw_sample\n\n"
    "x, y = draw_sample(CURVES['waves'], key=jr.key(0))\n"
    "queries = np.linspace(0, 1, 201)[:, None]\n"
    "output, pattern = attention_fit(queries, x, y, 0.05)\n"
    "print(agreement_with_formula(queries, x, y, 0.05))\n"
    "left_out = leave_one_out(x, y, np.geomspace(0.005, 1, 61))\n"
    "print(left_out.bandwidths[left_out.best])\n"
    "circle = on_circle(x[:, 0], 0.0, 1.0)\n"
    "print(dot_product(circle, circle, 0.2).pattern_difference)\n\n"
    "x, y = draw_sample(PLANES['one irrelevant'], key=jr.key(0))\n"
    "for progress in learn_metric(x, y, isotropic(2, 0.3), learning_rate=0.1, steps=400):\n"
    "    pass\n"
    "print(progress.losses[-1], progress.metric.query)",
    lead="This script prints the results above:",
)
