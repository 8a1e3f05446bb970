"""All views by name."""

from types import MappingProxyType

from attnlab.ui.train.inside.alignment import ALIGNMENT_VIEWS
from attnlab.ui.train.inside.maps import MAP_VIEWS
from attnlab.ui.train.inside.shown import Inside
from attnlab.ui.train.inside.values import VALUE_VIEWS

# The order is the one in which they are offered.
VIEWS = MappingProxyType({**ALIGNMENT_VIEWS, **MAP_VIEWS, **VALUE_VIEWS})


def views_of(inside: Inside) -> tuple[str, ...]:
    """The names of the views that an inside has, the one to begin with first."""
    return tuple(name for name, view in VIEWS.items() if view.holds(inside))
