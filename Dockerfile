# Hashrange in a container:
#   docker build -t hashrange/hashrange .
#   docker run -p 8000:8000 -v hashrange-data:/data hashrange/hashrange
# Tables and items to begin with (docs/init.md): docker run -p 8000:8000 -v ./init:/init hashrange/hashrange
# DynamoDB Local's command works too: docker run -p 8000:8000 hashrange/hashrange -jar DynamoDBLocal.jar -inMemory -sharedDb
#
# tests/packaging/test_image.py runs these steps without a container engine, and starts what they make (docs/adr/0051-image.md).

# Debian 12 has Python 3.11, which the tests use, for amd64 and arm64.
FROM debian:bookworm-slim AS python
# tini is process 1: it passes signals on, and ends what functions leave behind. No version is pinned, because the mirrors keep one each.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 tini \
    && rm -rf /var/lib/apt/lists/*

FROM python AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY requirements.txt ./
RUN python3 -m venv /opt/hashrange \
    && /opt/hashrange/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
# pip leaves modules compiled, which halves the time of a start, and is then removed itself.
RUN /opt/hashrange/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps . \
    && /opt/hashrange/bin/pip uninstall --yes pip setuptools

FROM python
# /home/dynamodblocal is where DynamoDB Local's image works: compose files name it with -dbPath or as a volume.
RUN groupadd --gid 10001 hashrange \
    && useradd --uid 10001 --gid hashrange --no-create-home --shell /usr/sbin/nologin hashrange \
    && install -d -o hashrange -g hashrange /data /home/dynamodblocal /home/dynamodblocal/data \
    && install -d /init
COPY --from=build /opt/hashrange /opt/hashrange
ENV PATH=/opt/hashrange/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONUNBUFFERED=1 \
    HASHRANGE_HOST=0.0.0.0 \
    HASHRANGE_DATA_DIR=/data \
    HASHRANGE_INIT=/init
# In numbers, so that Kubernetes sees that it is not root.
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
# For plain HTTP on the port of HASHRANGE_PORT, or 8000; a container with TLS or a port from a flag gives its own check.
# Engines may set variables of a proxy in every container, which cannot reach this one's loopback.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --start-interval=1s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ.get('HASHRANGE_PORT', '8000'), timeout=2)"]
ENTRYPOINT ["tini", "--", "hashrange"]
CMD ["serve"]
