"""Extras of the package: `app` has the tight bounds of requirements.txt."""

from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Extras(MetadataHookInterface):
    """Gives the optional dependencies of the package."""

    def update(self, metadata: dict) -> None:
        lines = Path(self.root, "requirements.txt").read_text(encoding="utf-8").splitlines()
        metadata["optional-dependencies"] = {
            "app": [line for line in lines if line and not line.startswith("#")],
            # Comparisons on the workers of a Dask cluster.
            "dask": ["distributed>=2026.1"],
        }
