"""A server with a folder of S3, its client, and raw requests that are signed for S3."""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.support.raw_client import RawClient, Reply
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY, sign, sign_chunks
from tests.support.stores import make_store

BUCKET = "photos"
UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"


class S3Server:
    """A running server with one bucket."""

    def __init__(self, running: ThreadServer, root: Path) -> None:
        self.running = running
        self.port = running.port
        self.root = root
        self.client = self.client_of()
        self.raw = RawClient("127.0.0.1", running.port)

    def client_of(self, access_key: str = ACCESS_KEY, secret: str = SECRET_KEY, **config: Any) -> Any:
        """A client of S3, which tries nothing again."""
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name=REGION,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret,
            config=Config(retries={"total_max_attempts": 1}, **config),
        )

    def ask(
        self, method: str, path: str, body: bytes = b"", payload: str | None = None, query: str = "", **headers: str
    ) -> Reply:
        """The reply to a signed request; `payload`: X-Amz-Content-SHA256. Underscores stand for hyphens."""
        url = path + (f"?{query}" if query else "")
        return self.raw.send(method, url, self.signed(method, path, payload, query, **headers), body)

    def signed(
        self, method: str, path: str, payload: str | None = None, query: str = "", **headers: str
    ) -> dict[str, str]:
        """The headers of a signed request."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        payload = payload or "UNSIGNED-PAYLOAD"
        complete = {"Host": f"127.0.0.1:{self.port}", "X-Amz-Content-SHA256": payload, **named}
        return sign(
            complete, b"", seconds=time.time(), service="s3", method=method, path=path, query=query,
            payload_hash=payload,
        )  # fmt: skip

    def put_chunks(self, key: str, pieces: Sequence[bytes], *, trailer: bytes = b"", spoilt: bytes = b"") -> Reply:
        """The reply to an upload in signed chunks; `spoilt` bytes are changed on the way."""
        payload = SIGNED_CHUNKS + ("-TRAILER" if trailer else "")
        length = str(sum(map(len, pieces)))
        path = f"/{BUCKET}/{key}"
        if trailer:
            name = trailer.partition(b":")[0].decode()
            headers = self.signed("PUT", path, payload, X_Amz_Decoded_Content_Length=length, X_Amz_Trailer=name)
        else:
            headers = self.signed("PUT", path, payload, X_Amz_Decoded_Content_Length=length)
        signature = headers["Authorization"].rpartition("=")[2]
        body = sign_chunks([*pieces, b""], signature, seconds=time.time(), service="s3", trailer=trailer) + b"\r\n"
        if spoilt:
            assert spoilt in body
            body = body.replace(spoilt, bytes(len(spoilt)))
        return self.raw.send("PUT", path, headers, body)

    def connect(self) -> socket.socket:
        """A connection for what no client sends."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def unfinished(self) -> list[str]:
        """Files that are being written."""
        return os.listdir(self.root / ".hashrange" / "receiving")


@contextmanager
def s3_server(root: Path, **settings: Any) -> Iterator[S3Server]:
    """A server whose folder of S3 has one bucket."""
    running = ThreadServer(
        make_store, ALL_OPERATIONS, settings=Settings(port=0, data_dir=None, s3_folder=str(root), **settings)
    )
    try:
        found = S3Server(running, root)
        found.client.create_bucket(Bucket=BUCKET)
        yield found
    finally:
        running.stop()
