"""Memory and time of attention against its length: in one piece and in chunks."""

from collections.abc import Iterator

from attnlab.lessons.costs import PASSES, lengths_to, measure_attention
from benchmarks.timing import Figure, spread

_LONGEST = 8192
_WIDTH = 32


def _rows() -> Iterator[str]:
    yield "memory: scratch of the compiled program, beside arguments and results"
    for passes in PASSES:
        *_, last = measure_attention(lengths_to(_LONGEST), d_attn=_WIDTH, passes=passes)
        for cost in last.measured:
            yield (
                f"{passes:20}  {cost.length:>6,}  {cost.way:8}"
                f"{cost.scratch / 1e6:10,.2f} MB  {spread(1_000 * cost.seconds, ',.2f')} ms"
            )


FIGURE = Figure(
    f"attention of one head of width {_WIDTH}, causal mask, in one piece (L × L scores at a time) "
    "and in chunks (√L × √L)",
    _rows,
)
