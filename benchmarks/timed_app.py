"""The app with a line in the server's log for every run of a page's script."""

import sys
import time

from attnlab.ui.shell import run_shell

began = time.perf_counter()
try:
    run_shell()
finally:
    # What stops or reruns a script is raised through here as well.
    sys.stderr.write(f"page script {time.perf_counter() - began:.4f} s\n")
