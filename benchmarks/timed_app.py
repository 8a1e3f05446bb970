"""The app with a line in the server's log for every run of a page's script."""

if __name__ == "__main__":
    import sys
    import time

    began = time.perf_counter()
    try:
        from attnlab.ui.shell import run_shell

        run_shell()
    finally:
        # What stops or reruns a script is raised through here as well.
        sys.stderr.write(f"page script {time.perf_counter() - began:.4f} s\n")
else:
    import streamlit as st

    from app import SERVING

    app = st.App(__file__, **SERVING)
