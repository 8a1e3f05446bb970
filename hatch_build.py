"""Parts of the package's metadata that are made when it is built.

The environment variables `ATTNLAB_REPOSITORY_URL` and `ATTNLAB_SITE_URL` give the addresses of the
repository and of the documentation site. With the first, links and pictures of the README become
absolute, since package indexes show it elsewhere. Without them there are no addresses.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or picture whose target is a file of the repository.
_RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


class BuiltMetadata(MetadataHookInterface):
    """Gives the optional dependencies, the README and the addresses of the package."""

    def update(self, metadata: dict) -> None:
        lines = Path(self.root, "requirements.txt").read_text(encoding="utf-8").splitlines()
        metadata["optional-dependencies"] = {
            # With the tight bounds of requirements.txt.
            "app": [line for line in lines if line and not line.startswith("#")],
            # Comparisons on the workers of a Dask cluster.
            "dask": ["distributed>=2026.1"],
        }
        names = ("ATTNLAB_REPOSITORY_URL", "ATTNLAB_SITE_URL")
        repository, site = (os.environ.get(name, "").rstrip("/") for name in names)
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(text, repository) if repository else text
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        urls = {"Documentation": site, "Source": repository}
        if repository:
            urls["Issues"] = f"{repository}/issues"
            urls["Changelog"] = f"{repository}/blob/HEAD/CHANGELOG.md"
        metadata["urls"] = {name: address for name, address in urls.items() if address}


def with_absolute_links(text: str, repository: str) -> str:
    """Return Markdown with its relative links as addresses in the repository."""

    def absolute(found: re.Match) -> str:
        mark, title, target = found.groups()
        return f"{mark}{title}({repository}/{'raw' if mark else 'blob'}/HEAD/{target})"

    return _RELATIVE.sub(absolute, text)
