"""Registries: configuration classes and measures by name, to which users can add their own."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class Registry(Mapping[str, Any]):
    """Classes or other things by their `name`, in the order in which menus offer them.

    The classes of the package are fixed; those that `add` takes come after them.

    Args:
        kinds: Classes of the package.
        parts: Registries whose classes this one also has, including those added later.
    """

    def __init__(self, kinds: Iterable[Any] = (), parts: Iterable["Registry"] = ()):
        self._kinds = {kind.name: kind for kind in kinds}
        self._parts = tuple(parts)
        self._fixed = frozenset(self._kinds)

    def __getitem__(self, name: object) -> Any:
        for part in self._parts:
            if name in part:
                return part[name]
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._kinds
        for part in self._parts:
            yield from part

    def __len__(self) -> int:
        return len(self._kinds) + sum(map(len, self._parts))

    def added(self) -> tuple[Any, ...]:
        """Return the classes that are not part of the package."""
        own = tuple(kind for name, kind in self._kinds.items() if name not in self._fixed)
        return own + tuple(kind for part in self._parts for kind in part.added())

    def add(self, kind: Any) -> None:
        """Add a class, or replace an added one of the same name."""
        if kind.name in self._fixed:
            raise ValueError(f"'{kind.name}' is the name of a class of attnlab.")
        self._kinds[kind.name] = kind

    def remove(self, kind: Any) -> None:
        """Remove a class that was added."""
        if self._kinds.get(kind.name) is kind and kind.name not in self._fixed:
            del self._kinds[kind.name]
