"""What all pages use: shell, fragments, charts, texts, session, jobs and figures."""
