"""Objects are written to s3rver, a server of S3 that others have written, listed and read, also with its errors."""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from hashrange.s3.endpoint import S3Endpoint
from hashrange.s3.objects import ObjectInfo, ObjectOptions, S3Failure
from tests.clients.programs import node
from tests.clients.stories import HERE
from tests.support.waiting import wait_until

FOLDER = HERE / "s3rver"
BUCKET = "photos"
KEY = "S3RVER"
"""Access key and secret that s3rver knows."""
LONG = bytes(range(256)) * 4096 * 17

pytestmark = pytest.mark.packaging


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Port of a running s3rver with one bucket."""
    program = node(FOLDER)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = str(FOLDER / "node_modules" / "s3rver" / "bin" / "s3rver.js")
    options = [
        "-d",
        str(tmp_path / "data"),
        "-a",
        "127.0.0.1",
        "-p",
        str(port),
        "--configure-bucket",
        BUCKET,
        "--silent",
    ]
    (tmp_path / "data").mkdir()
    process = subprocess.Popen([program, script, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = boto3.client(
        "s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id=KEY,
        aws_secret_access_key=KEY, config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip

    def answers() -> bool:
        assert process.poll() is None
        try:
            client.head_bucket(Bucket=BUCKET)
        except BotoCoreError:
            return False
        return True

    try:
        wait_until(answers)
        yield port
    finally:
        client.close()
        process.kill()
        process.wait()


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for one in content:
        yield one


async def use(objects: S3Endpoint) -> None:
    """Write, list, read and meet errors."""
    etag = await objects.write(BUCKET, "data/ü 1.json.gz", pieces(b"hel", b"lo"), ObjectOptions("application/json"))
    await objects.write(BUCKET, "data/long", pieces(LONG[:5_000_000], LONG[5_000_000:]))
    await objects.write(BUCKET, "else", pieces())

    async def read(key: str, start: int = 0, etag: str = "") -> bytes:
        return b"".join([chunk async for chunk in objects.read(BUCKET, key, start, etag=etag)])

    assert await read("data/long") == LONG
    assert await read("data/long", 12_345_678) == LONG[12_345_678:]
    assert await read("data/ü 1.json.gz", etag=etag) == b"hello"
    assert await read("else") == b""
    infos = [one async for one in objects.list_objects(BUCKET, "data/")]
    assert [(one.key, one.size_bytes) for one in infos] == [("data/long", len(LONG)), ("data/ü 1.json.gz", 5)]
    assert infos[1] == ObjectInfo("data/ü 1.json.gz", 5, etag)
    for failing, code in ((read("none"), "NoSuchKey"), (read("else", 0, "0" * 32), "PreconditionFailed")):
        with pytest.raises(S3Failure) as caught:
            await failing
        assert caught.value.code == code
    with pytest.raises(S3Failure) as caught:
        await objects.write("no-bucket", "key", pieces(b"x"))
    assert (caught.value.code, caught.value.message) == ("NoSuchBucket", "The specified bucket does not exist")
    await objects.close()


def test_another_server_of_s3_keeps_objects(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    asyncio.run(use(S3Endpoint(f"http://127.0.0.1:{port}", "us-east-1", is_virtual=False)))
