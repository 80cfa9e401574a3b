# Hashrange in a container:
#   docker build -t hashrange/hashrange .
#   docker run -p 8000:8000 -v hashrange-data:/data hashrange
# Tables and items to begin with (docs/init.md): docker run -p 8000:8000 -v ./init:/init hashrange
# DynamoDB Local's flags work too: docker run -p 8000:8000 hashrange -inMemory -sharedDb

FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements.txt ./
RUN python -m venv /opt/hashrange \
    && /opt/hashrange/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN /opt/hashrange/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps . \
    && /opt/hashrange/bin/pip uninstall --yes pip setuptools

FROM python:3.11-slim
RUN groupadd --gid 10001 hashrange \
    && useradd --uid 10001 --gid hashrange --no-create-home --shell /usr/sbin/nologin hashrange \
    && install -d -o hashrange -g hashrange /data \
    && install -d /init
COPY --from=build /opt/hashrange /opt/hashrange
ENV PATH=/opt/hashrange/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HASHRANGE_HOST=0.0.0.0 \
    HASHRANGE_DATA_DIR=/data \
    HASHRANGE_INIT=/init
USER hashrange
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
# For plain HTTP on the default port; a container with other settings gives its own check.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/', timeout=2)"]
ENTRYPOINT ["hashrange"]
CMD ["serve"]
