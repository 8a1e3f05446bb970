# attnlab on a server for others. docs/hosting.md says how to build and run it.
FROM python:3.13-slim

# The browser draws with the fonts of its own machine; these are for pictures made on the server.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends fonts-noto-color-emoji \
    && rm -rf /var/lib/apt/lists/*

# Some hosts run every container as this user, whatever its image says.
RUN useradd --uid 1000 --create-home attnlab

WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir --requirement requirements.txt
# Owned by root, so that the server cannot change what it runs.
COPY .streamlit .streamlit
COPY attnlab attnlab
COPY pages pages
COPY app.py LICENSE ./
RUN python -m compileall -q attnlab pages app.py

USER 1000

ENV ATTNLAB_HOSTED=1 \
    PORT=8501 \
    # With an arena for every thread, memory that is freed would stay with the process.
    MALLOC_ARENA_MAX=2 \
    # Nothing is written: no bytecode, and uploads that are being received stay in memory.
    PYTHONDONTWRITEBYTECODE=1 \
    TMPDIR=/dev/shm \
    STREAMLIT_SERVER_HEADLESS=true \
    # In megabytes: the largest run file within the caps of a shared server, and the largest
    # message that a browser may send.
    STREAMLIT_SERVER_MAX_UPLOAD_SIZE=8 \
    STREAMLIT_SERVER_MAX_MESSAGE_SIZE=16 \
    STREAMLIT_CLIENT_SHOW_ERROR_DETAILS=none

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/_stcore/health', timeout=4)"]

# The shell puts in the port and makes way for the server, which then hears when it shall end.
CMD ["sh", "-c", "exec python -m streamlit run app.py --server.address 0.0.0.0 --server.port \"$PORT\""]
