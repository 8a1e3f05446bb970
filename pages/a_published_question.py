"""The address that the blog post's comparison had before it became a known result."""

from attnlab.ui.controls.address import go_to
from attnlab.ui.core.display import KNOWN_PAGE
from attnlab.ui.shell import ensure_shell

ensure_shell()
go_to(KNOWN_PAGE)
