"""Lists of the server's own S3 come in pages, as the service's do, and long ones let others have their turns."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from greenlet import getcurrent

from hashrange.items import steps
from hashrange.items.growing_bytes import PacedBytes
from hashrange.s3.folder_files import FolderFiles, id_of
from hashrange.s3.folder_uploads import UploadRecord
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.server.protocols.s3 import replies
from hashrange.server.protocols.s3.replies import S3Writer
from hashrange.service.workers import Worker
from tests.unit.server.s3_servers import BUCKET, S3Server, s3_server
from tests.unit.server.test_s3 import code_of

ACCOUNT, OTHER = "000000000000", "123456789012"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    """A server with an empty bucket."""
    with s3_server(tmp_path / "s3") as found:
        yield found


def make_uploads(server: S3Server, keys: list[str]) -> list[str]:
    """Uploads as they are on the disk, made quickly; returns their ids, which grow."""
    bucket_id = id_of(FolderFiles(str(server.root)).bucket_record(BUCKET))
    ids = [f"{number:032x}" for number in range(len(keys))]
    for upload_id, key in zip(ids, keys, strict=True):
        folder = server.root / ".hashrange" / "uploads" / upload_id
        folder.mkdir()
        record = UploadRecord(BUCKET, key, ACCOUNT, {}, bucket_id)
        (folder / "upload.json").write_bytes(msgspec.json.encode(record))
    return ids


def test_pages_of_uploads(server: S3Server) -> None:
    keys = ["b", "a", "é", "b", "c&<d>", "b", "a/b"]
    ids = make_uploads(server, keys)
    expected = sorted(zip(keys, ids, strict=True), key=lambda pair: (pair[0].encode(), pair[1]))
    for size in (1, 2, 3, 7, 1000):
        pages = server.client.get_paginator("list_multipart_uploads").paginate(
            Bucket=BUCKET, PaginationConfig={"PageSize": size}
        )
        found = [[(one["Key"], one["UploadId"]) for one in page["Uploads"]] for page in pages]
        assert [pair for page in found for pair in page] == expected
        assert {len(page) for page in found[:-1]} <= {size}

    def listed(**members: Any) -> list[str]:
        return [one["Key"] for one in server.client.list_multipart_uploads(Bucket=BUCKET, **members).get("Uploads", ())]

    assert listed(KeyMarker="b") == ["c&<d>", "é"]
    assert listed(KeyMarker="b", UploadIdMarker=ids[0]) == ["b", "b", "c&<d>", "é"]
    assert listed(UploadIdMarker=ids[-1], Prefix="a") == ["a", "a/b"]
    assert listed(MaxUploads=0) == []
    first = server.client.list_multipart_uploads(Bucket=BUCKET, MaxUploads=1)
    assert (first["IsTruncated"], first["MaxUploads"], first["NextKeyMarker"]) == (True, 1, "a")
    assert code_of(lambda: listed(MaxUploads=-1)) == ("InvalidArgument", 400)


def test_a_page_has_at_most_a_thousand_uploads(server: S3Server) -> None:
    ids = make_uploads(server, ["key"] * 1_001)
    for members in ({}, {"MaxUploads": 5_000}):
        page = server.client.list_multipart_uploads(Bucket=BUCKET, **members)
        assert [one["UploadId"] for one in page["Uploads"]] == ids[:1_000]
        assert (page["IsTruncated"], page["NextUploadIdMarker"]) == (True, ids[999])


def test_pages_of_buckets(server: S3Server) -> None:
    names = [f"bucket-{number:03d}" for number in range(7)]
    for name in [*names, "another"]:
        server.client.create_bucket(Bucket=name)
    other = server.client_of(OTHER)
    other.create_bucket(Bucket="bucket-001x")
    (server.root / "bucket-by-hand").mkdir()
    expected = ["another", *names, "bucket-by-hand", BUCKET]
    for size in (1, 2, 3, 10, 10_000):
        pages = server.client.get_paginator("list_buckets").paginate(PaginationConfig={"PageSize": size})
        found = [[one["Name"] for one in page["Buckets"]] for page in pages]
        assert [name for page in found for name in page] == expected
        assert {len(page) for page in found[:-1]} <= {size}
    page = server.client.list_buckets(Prefix="bucket-", MaxBuckets=2)
    assert ([one["Name"] for one in page["Buckets"]], page["Prefix"]) == (names[:2], "bucket-")
    page = server.client.list_buckets(Prefix="bucket-", ContinuationToken=page["ContinuationToken"])
    assert [one["Name"] for one in page["Buckets"]] == [*names[2:], "bucket-by-hand"]
    assert "ContinuationToken" not in page
    assert [one["Name"] for one in other.list_buckets()["Buckets"]] == ["bucket-001x", "bucket-by-hand"]
    for query in ("max-buckets=0", "max-buckets=x", "continuation-token=!"):
        assert b"<Code>InvalidArgument</Code>" in server.ask("GET", "/", query=query).body


class NotedBytes(PacedBytes):
    """Bytes that note how many are written between two looks."""

    since = most = 0

    def write(self, piece: Any) -> int:
        """Add a piece."""
        length = super().write(piece)
        NotedBytes.since += length
        NotedBytes.most = max(NotedBytes.most, NotedBytes.since)
        return length


@pytest.mark.parametrize(
    ("path", "query", "element"),
    [("/", "", "Bucket"), (f"/{BUCKET}", "uploads=", "Upload"), (f"/{BUCKET}", "list-type=2", "Contents")],
)
def test_a_long_list_is_written_in_pieces(
    server: S3Server, path: str, query: str, element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 buckets, or uploads, on one page were one step of 240 to 1,000 ms; a page of 1,000 objects one of 10."""
    if element == "Bucket":
        for number in range(2_000):
            os.mkdir(server.root / f"bucket-{number}")
    elif element == "Upload":
        make_uploads(server, [f"key-{number}" for number in range(1_000)])
    else:
        for number in range(1_000):
            (server.root / BUCKET / f"key-{number}").touch()
    write = S3Writer.reply
    written: list[tuple[bool, int]] = []

    def look() -> None:
        NotedBytes.since = 0

    def observed(writer: S3Writer, outcome: Any) -> WrittenReply:
        with monkeypatch.context() as patched:
            patched.setattr(steps, "_look", look)
            reply = write(writer, outcome)
        written.append((isinstance(getcurrent(), Worker), len(reply.body)))
        return reply

    monkeypatch.setattr(replies, "PacedBytes", NotedBytes)
    monkeypatch.setattr(NotedBytes, "most", 0)
    monkeypatch.setattr(S3Writer, "reply", observed)
    reply = server.ask("GET", path, query=query)
    assert reply.body.count(b"<%b>" % element.encode()) >= 1_000
    ((is_in_worker, length),) = written
    assert is_in_worker
    assert length == len(reply.body) > 20 * NotedBytes.most > 0
