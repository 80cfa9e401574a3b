"""A server with a folder of S3, killed without warning while objects are written: each object is one that was sent,
whole, at least as new as the last answered one; uploads go on; nothing that was unfinished stays.
"""

import hashlib
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.crash.harness import ROUNDS
from tests.crash.test_server_kills import ServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

BUCKET = "kills"
KEYS = ("a", "a/b", "deep/er/still", "c" * 300)
KILLS = max(3, ROUNDS // 10)
PART = bytes(5 * 1024 * 1024)


def content(key: str, version: int) -> bytes:
    """What is written as this version of a key: the number, and much that depends on it."""
    rng = random.Random(f"{key} {version}")
    return f"{version} ".encode() + rng.randbytes(rng.choice([0, 1000, 300_000, 2_000_000]))


def version_of(key: str, found: bytes) -> int:
    """The version that this content is, whole."""
    version = int(found.partition(b" ")[0])
    assert found == content(key, version), f"{key} is mixed or cut"
    return version


def client_of(server: ServerProcess) -> Any:
    return boto3.client(
        "s3", endpoint_url=f"http://127.0.0.1:{server.call.port}", region_name="us-east-1", aws_access_key_id="a",
        aws_secret_access_key="b", config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip


class Writer(threading.Thread):
    """Writes one version of a key after the other, until the server is gone."""

    def __init__(self, server: ServerProcess, key: str, last: int, answered: threading.Semaphore) -> None:
        super().__init__()
        self.key, self.last, self.answered = key, last, answered
        self.client = client_of(server)
        self.start()

    def run(self) -> None:
        while True:
            try:
                self.client.put_object(Bucket=BUCKET, Key=self.key, Body=content(self.key, self.last + 1))
            except (BotoCoreError, ClientError):
                return
            self.last += 1
            self.answered.release()


def test_kills_leave_whole_objects(tmp_path: Path) -> None:
    root = tmp_path / "s3"
    options = ("--s3-folder", str(root))
    server = ServerProcess(tmp_path / "data", *options)
    client = client_of(server)
    client.create_bucket(Bucket=BUCKET)
    upload = {"Bucket": BUCKET, "Key": "parts"}
    upload["UploadId"] = client.create_multipart_upload(**upload)["UploadId"]
    first = client.upload_part(**upload, PartNumber=1, Body=PART)["ETag"]
    versions = dict.fromkeys(KEYS, 0)
    rng = random.Random(9)
    for _ in range(KILLS):
        answered = threading.Semaphore(0)
        writers = [Writer(server, key, versions[key], answered) for key in KEYS]
        for _ in range(rng.randrange(4, 20)):
            answered.acquire()
        server.kill()
        for writer in writers:
            writer.join()
        server = ServerProcess(tmp_path / "data", *options)
        assert os.listdir(root / ".hashrange" / "receiving") == []
        client = client_of(server)
        for writer in writers:
            got = client.get_object(Bucket=BUCKET, Key=writer.key)
            body = got["Body"].read()
            found = version_of(writer.key, body)
            assert found in {writer.last, writer.last + 1}
            assert got["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
            versions[writer.key] = found
    last = client.upload_part(**upload, PartNumber=2, Body=b"end")["ETag"]
    parts = [{"PartNumber": 1, "ETag": first}, {"PartNumber": 2, "ETag": last}]
    client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert client.get_object(Bucket=BUCKET, Key="parts")["Body"].read() == PART + b"end"
    assert [one["Key"] for one in client.list_objects_v2(Bucket=BUCKET)["Contents"]] == sorted([*KEYS, "parts"])
    server.stop()
