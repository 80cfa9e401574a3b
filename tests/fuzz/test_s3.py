"""Spoiled requests of S3: each gets a reply of S3, none an internal error, and nothing unfinished stays.

`HASHRANGE_FUZZ_REQUESTS` sets the number of requests, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import os
import random
from pathlib import Path
from urllib.parse import quote

from tests.support.raw_client import request_head
from tests.support.waiting import wait_until
from tests.unit.server.s3_servers import BUCKET, S3Server, s3_server

REQUESTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "250"))
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS")
PATHS = (
    *("/", f"/{BUCKET}", f"/{BUCKET}/", f"/{BUCKET}/a", f"/{BUCKET}/a/b", f"/{BUCKET}//", f"/{BUCKET}/..", "//", "*"),
    *(f"/{BUCKET}/%2e%2e/x", "/.hashrange/buckets", "/%2e%2e/etc", f"/{BUCKET}/%00", f"/{BUCKET}/%FF", "/Photos/a"),
    *(f"/{BUCKET}/" + "x" * 1100, f"/{BUCKET}/" + "%2F" * 400, f"http://x/{BUCKET}/a", f"/{BUCKET}/con"),
)
PARAMETERS = [
    "acl",
    "uploads",
    "uploadId",
    "partNumber",
    "list-type",
    "location",
    "prefix",
    "delimiter",
    "max-keys",
    "continuation-token",
    "start-after",
    "encoding-type",
    "versionId",
    "response-content-type",
    "X-Amz-Expires",
    "AWSAccessKeyId",
    "Signature",
    "Expires",
    "x-id",
    "max-parts",
]
VALUES = (
    "",
    "1",
    "2",
    "0",
    "-1",
    "9" * 21,
    "a",
    "../..",
    "é",
    "url",
    "/",
    "x" * 2000,
    "true",
    "\r\n",
    "AA==",
    "0" * 32,
)
HEADERS = [
    "Range",
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "Content-MD5",
    "X-Amz-Content-SHA256",
    "X-Amz-Decoded-Content-Length",
    "X-Amz-Trailer",
    "X-Amz-Checksum-Crc32",
    "X-Amz-Storage-Class",
    "X-Amz-Meta-A",
    "Content-Encoding",
    "Content-Type",
    "X-Amz-Expected-Bucket-Owner",
    "X-Amz-Security-Token",
    "Expect",
    "X-Amz-Copy-Source",
]
SAID = (
    *("", "bytes=0-", "bytes=-", "bytes=5-1", "bytes=9999999999999999999999-", "*", '"abc"', 'W/"x"', "garbage", "-1"),
    *("Mon, 01 Jan 2024 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "UNSIGNED-PAYLOAD", "aws-chunked,gzip"),
    *("STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "0" * 64, "GLACIER", "\xe9\xff"),
    *("x-amz-checksum-crc32", "100-continue", "1" * 30),
)
BODIES = (
    *(b"", b"x", b"5\r\nhello\r\n0\r\n\r\n", bytes(100_000)),
    b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>a</ETag></Part></CompleteMultipartUpload>",
)


def ask(server: S3Server, rng: random.Random) -> tuple[str, bytes]:
    """A random request's line and headers, and the first line of its reply."""
    method, path, body = rng.choice(METHODS), rng.choice(PATHS), rng.choice(BODIES)
    query = "&".join(
        f"{rng.choice(PARAMETERS)}={quote(rng.choice(VALUES))}" for _ in range(rng.choice([0, 0, 1, 2, 3]))
    )
    headers = server.signed(method, path, query=query)
    headers |= {rng.choice(HEADERS): rng.choice(SAID) for _ in range(rng.choice([0, 1, 2, 3]))}
    head = request_head(method, path + (f"?{query}" if query else ""), headers | {"Content-Length": str(len(body))})
    with server.connect() as connection, connection.makefile("rb") as incoming:
        connection.sendall(head + body)
        line = incoming.readline()
        if b" 100 " in line:
            incoming.readline()
            line = incoming.readline()
    return head.decode("latin-1"), line


def test_spoiled_requests(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    with s3_server(tmp_path / "s3") as server:
        server.client.put_object(Bucket=BUCKET, Key="a", Body=b"hello")
        for _ in range(REQUESTS):
            head, line = ask(server, rng)
            assert line.startswith(b"HTTP/1.1 "), head
            assert int(line.split()[1]) in {200, 204, 206, 304, 400, 403, 404, 405, 409, 412, 416, 501}, (head, line)
        wait_until(lambda: server.unfinished() == [])
        assert sorted(os.listdir(tmp_path)) == ["s3"]
