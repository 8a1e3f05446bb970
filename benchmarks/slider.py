"""How long a page's script takes after a slider was moved."""

import time
from collections.abc import Iterator

from benchmarks.script_runs import ROOT, opened_app
from benchmarks.timing import Figure, spread

# The pages that are no exploration: they train, or have nothing to move.
_OTHERS = frozenset({"train", "look_inside", "words"})
_MOVES = 12


def _rows() -> Iterator[str]:
    for path in sorted((ROOT / "pages").glob("*.py")):
        if path.stem in _OTHERS:
            continue
        app = opened_app()
        app.switch_page(f"pages/{path.name}").run()
        if not app.slider:
            yield f"{path.stem:<22} has no slider"
        for place, slider in enumerate(app.slider):
            seconds = []
            for move in range(_MOVES):
                # Back and forth, so that no two pictures in a row are the same.
                moved = app.slider[place]
                step = moved.step or 1
                ahead = moved.value + step <= moved.max
                moved.set_value(moved.value + step if ahead and move % 2 == 0 else moved.min)
                began = time.perf_counter()
                app.run()
                seconds.append(1_000 * (time.perf_counter() - began))
            # The first moves fill caches and compile.
            times = spread(seconds[2:])
            yield f"{path.stem:<22} {slider.label[:28]:<28} {times} ms   target ≤ 150 ms"


FIGURE = Figure(
    "from a moved slider of an exploration page to the end of the script (Streamlit's AppTest: "
    "without network and browser)",
    _rows,
)
