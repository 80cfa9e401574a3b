"""The server's own S3, over a folder: what boto3 sees."""

import io
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.signing import ACCESS_KEY, SECRET_KEY
from tests.unit.server.s3_servers import BUCKET, S3Server, s3_server

OTHER_KEY, OTHER_SECRET = "AKIAOTHER", "another secret"
CREDENTIALS = f"""
[[credential]]
access_key = "{ACCESS_KEY}"
secret_key = "{SECRET_KEY}"

[[credential]]
access_key = "{OTHER_KEY}"
secret_key = "{OTHER_SECRET}"
account = "123456789012"
"""
PART = bytes(range(256)) * 4096 * 5


@pytest.fixture(scope="module", params=["any key", "credentials file"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server that lets in any key, and one with a credentials file."""
    folder = tmp_path_factory.mktemp("s3")
    settings = {}
    if request.param != "any key":
        (folder / "credentials.toml").write_text(CREDENTIALS)
        settings["credentials"] = str(folder / "credentials.toml")
    with s3_server(folder / "buckets", **settings) as found:
        yield found


@pytest.fixture
def s3(server: S3Server) -> Iterator[Any]:
    """A client; the objects of a test are deleted after it."""
    yield server.client
    for page in server.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        for one in page.get("Contents", ()):
            server.client.delete_object(Bucket=BUCKET, Key=one["Key"])
    assert server.unfinished() == []


def code_of(call: Callable[[], object]) -> tuple[str, int]:
    """Code and status of the error of a call."""
    with pytest.raises(ClientError) as caught:
        call()
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_an_archiving_program_writes_and_reads(s3: Any) -> None:
    key = "archive/Music/No One You Know/ü.json"
    put = s3.put_object(
        Bucket=BUCKET, Key=key, Body=b'{"a": 1}', StorageClass="GLACIER", Metadata={"origin": "stream"},
        ContentType="application/json", ServerSideEncryption="AES256", CacheControl="no-store",
    )  # fmt: skip
    assert put["ETag"] == '"42b7b4f2921788ea14dac5566e6f06d0"'
    assert put["ServerSideEncryption"] == "AES256"
    got = s3.get_object(Bucket=BUCKET, Key=key)
    assert got["Body"].read() == b'{"a": 1}'
    assert (got["StorageClass"], got["ContentType"], got["CacheControl"]) == ("GLACIER", "application/json", "no-store")
    assert (got["Metadata"], got["ETag"], got["ContentLength"]) == ({"origin": "stream"}, put["ETag"], 8)
    head = s3.head_object(Bucket=BUCKET, Key=key)
    assert {name: head[name] for name in ("ETag", "ContentLength", "LastModified")} == {
        name: got[name] for name in ("ETag", "ContentLength", "LastModified")
    }
    assert s3.delete_object(Bucket=BUCKET, Key=key)["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert s3.delete_object(Bucket=BUCKET, Key=key)["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert code_of(lambda: s3.get_object(Bucket=BUCKET, Key=key)) == ("NoSuchKey", 404)
    assert code_of(lambda: s3.head_object(Bucket=BUCKET, Key=key)) == ("404", 404)


@pytest.mark.parametrize(
    "key", ["a", "a/b", "a/", "a//b", "/x", "../x", "x/../y", "..", "%41", "A", "a+b c", "é\n\t", "x" * 1024]
)
def test_hostile_keys_are_ordinary_ones(s3: Any, key: str) -> None:
    s3.put_object(Bucket=BUCKET, Key="other", Body=b"other")
    s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == key.encode()
    assert sorted(one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET)["Contents"]) == sorted(["other", key])


def test_pages_of_a_list(s3: Any) -> None:
    keys = [f"{folder}/{number:03d}" for folder in ("a", "b") for number in range(12)] + ["c d&<é>"]
    for key in keys:
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"12345")
    paginator = s3.get_paginator("list_objects_v2")
    pages = list(paginator.paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 10}))
    assert [one["Key"] for page in pages for one in page["Contents"]] == keys
    assert [page["KeyCount"] for page in pages] == [10, 10, 5]
    first = s3.list_objects_v2(Bucket=BUCKET, Delimiter="/", MaxKeys=1)
    assert ([one["Prefix"] for one in first["CommonPrefixes"]], first["IsTruncated"]) == (["a/"], True)
    token = first["NextContinuationToken"]
    second = s3.list_objects_v2(Bucket=BUCKET, Delimiter="/", ContinuationToken=token)
    assert [one["Prefix"] for one in second["CommonPrefixes"]] == ["b/"]
    (one,) = second["Contents"]
    assert (one["Key"], one["Size"], one["StorageClass"]) == ("c d&<é>", 5, "STANDARD")
    after = s3.list_objects_v2(Bucket=BUCKET, Prefix="b/", StartAfter="b/009", FetchOwner=True)
    assert [one["Key"] for one in after["Contents"]] == ["b/010", "b/011"]
    assert s3.list_objects_v2(Bucket=BUCKET, MaxKeys=0)["KeyCount"] == 0
    assert code_of(lambda: s3.list_objects_v2(Bucket=BUCKET, ContinuationToken="!")) == ("InvalidArgument", 400)


@pytest.mark.parametrize(
    ("wanted", "expected", "said"),
    [
        ("bytes=2-4", b"cde", "bytes 2-4/10"),
        ("bytes=8-100", b"ij", "bytes 8-9/10"),
        ("bytes=7-", b"hij", "bytes 7-9/10"),
        ("bytes=-3", b"hij", "bytes 7-9/10"),
        ("bytes=-30", b"abcdefghij", "bytes 0-9/10"),
        ("bytes=4-2", b"abcdefghij", None),
        ("bytes=0-1,3-4", b"abcdefghij", None),
        ("lines=1-2", b"abcdefghij", None),
    ],
)
def test_ranges(s3: Any, wanted: str, expected: bytes, said: str | None) -> None:
    s3.put_object(Bucket=BUCKET, Key="letters", Body=b"abcdefghij")
    got = s3.get_object(Bucket=BUCKET, Key="letters", Range=wanted)
    assert (got["Body"].read(), got.get("ContentRange")) == (expected, said)
    assert got["ResponseMetadata"]["HTTPStatusCode"] == (200 if said is None else 206)


def test_conditions(s3: Any) -> None:
    def put(**conditions: str) -> Any:
        return s3.put_object(Bucket=BUCKET, Key="key", Body=b"content", **conditions)

    etag = put(IfNoneMatch="*")["ETag"]
    assert code_of(lambda: put(IfNoneMatch="*")) == ("PreconditionFailed", 412)
    assert code_of(lambda: put(IfMatch='"0"')) == ("PreconditionFailed", 412)
    put(IfMatch=etag)
    get = s3.get_object
    assert code_of(lambda: get(Bucket=BUCKET, Key="key", IfMatch='"0"')) == ("PreconditionFailed", 412)
    assert code_of(lambda: get(Bucket=BUCKET, Key="key", IfNoneMatch=etag)) == ("304", 304)
    moment = get(Bucket=BUCKET, Key="key", IfMatch=etag)["LastModified"]
    assert code_of(lambda: get(Bucket=BUCKET, Key="key", IfModifiedSince=moment)) == ("304", 304)
    assert get(Bucket=BUCKET, Key="key", IfUnmodifiedSince=moment)["Body"].read() == b"content"


def test_an_upload_in_parts(s3: Any) -> None:
    content = PART + PART[:-7] + b"end"
    s3.upload_fileobj(io.BytesIO(content * 2), BUCKET, "by transfer", ExtraArgs={"StorageClass": "DEEP_ARCHIVE"})
    received = io.BytesIO()
    s3.download_fileobj(BUCKET, "by transfer", received)
    assert received.getvalue() == content * 2
    assert s3.head_object(Bucket=BUCKET, Key="by transfer")["StorageClass"] == "DEEP_ARCHIVE"

    upload = {"Bucket": BUCKET, "Key": "by hand"}
    upload["UploadId"] = s3.create_multipart_upload(**upload, Metadata={"a": "b"})["UploadId"]
    parts = []
    for number, body in ((2, b"replaced"), (2, b"end"), (1, PART)):
        etag = s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    listed = s3.list_parts(**upload)["Parts"]
    assert [(one["PartNumber"], one["Size"]) for one in listed] == [(1, len(PART)), (2, 3)]
    assert [one["Key"] for one in s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]] == ["by hand"]

    def complete(*wanted: Any) -> Any:
        return s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": list(wanted)})

    assert code_of(lambda: complete(parts[1], parts[2])) == ("InvalidPartOrder", 400)
    assert code_of(lambda: complete(parts[2], parts[0])) == ("InvalidPart", 400)
    small = s3.upload_part(**upload, PartNumber=3, Body=b"")["ETag"]
    assert code_of(lambda: complete(parts[1], {"PartNumber": 3, "ETag": small})) == ("EntityTooSmall", 400)
    assert code_of(complete) == ("MalformedXML", 400)
    assert complete(parts[2], parts[1])["ETag"].endswith('-2"')
    got = s3.get_object(Bucket=BUCKET, Key="by hand")
    assert (got["Body"].read(), got["Metadata"]) == (PART + b"end", {"a": "b"})
    assert code_of(lambda: complete(parts[2])) == ("NoSuchUpload", 404)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=BUCKET)

    upload["UploadId"] = s3.create_multipart_upload(Bucket=BUCKET, Key="by hand")["UploadId"]
    s3.upload_part(**upload, PartNumber=1, Body=b"x")
    s3.abort_multipart_upload(**upload)
    assert code_of(lambda: s3.upload_part(**upload, PartNumber=1, Body=b"x")) == ("NoSuchUpload", 404)


def test_parts_of_an_object_are_read_by_number(s3: Any) -> None:
    upload = {"Bucket": BUCKET, "Key": "parts"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    bodies = {2: PART, 3: PART, 5: b"x" + PART, 9: b"end"}
    parts = [
        {"PartNumber": number, "ETag": s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"]}
        for number, body in bodies.items()
    ]
    etag = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})["ETag"]
    here = {"Bucket": BUCKET, "Key": "parts"}
    size_bytes = start = 0
    for number, body in enumerate(bodies.values(), 1):
        start, size_bytes = size_bytes, size_bytes + len(body)
        got = s3.get_object(**here, PartNumber=number)
        assert got["Body"].read() == body
        head = s3.head_object(**here, PartNumber=number)
        for reply in (got, head):
            assert (reply["PartsCount"], reply["ETag"], reply["ContentLength"]) == (4, etag, len(body))
            assert reply["ResponseMetadata"]["HTTPStatusCode"] == 206
            span = reply["ResponseMetadata"]["HTTPHeaders"]["content-range"]
            assert span == f"bytes {start}-{size_bytes - 1}/{sum(map(len, bodies.values()))}"
    assert "PartsCount" not in s3.head_object(**here)
    assert code_of(lambda: s3.head_object(**here, PartNumber=5)) == ("416", 416)
    assert code_of(lambda: s3.get_object(**here, PartNumber=5)) == ("InvalidPartNumber", 416)
    assert code_of(lambda: s3.get_object(**here, PartNumber=0)) == ("InvalidArgument", 400)
    assert code_of(lambda: s3.get_object(**here, PartNumber=1, Range="bytes=0-1")) == ("InvalidRequest", 400)


def test_an_object_that_came_at_once_is_its_only_part(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"content")
    s3.put_object(Bucket=BUCKET, Key="empty", Body=b"")
    got = s3.get_object(Bucket=BUCKET, Key="a", PartNumber=1)
    assert (got["Body"].read(), got["ContentRange"]) == (b"content", "bytes 0-6/7")
    assert "PartsCount" not in got
    assert s3.get_object(Bucket=BUCKET, Key="empty", PartNumber=1)["Body"].read() == b""
    assert code_of(lambda: s3.get_object(Bucket=BUCKET, Key="a", PartNumber=2)) == ("InvalidPartNumber", 416)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda s3: s3.put_object(Bucket="no-bucket", Key="a", Body=b"x" * 100_000), ("NoSuchBucket", 404)),
        (lambda s3: s3.list_objects_v2(Bucket="no-bucket"), ("NoSuchBucket", 404)),
        (lambda s3: s3.head_bucket(Bucket="no-bucket"), ("404", 404)),
        (lambda s3: s3.create_bucket(Bucket="Capitals"), ("InvalidBucketName", 400)),
        (lambda s3: s3.delete_bucket(Bucket=BUCKET), ("BucketNotEmpty", 409)),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key="y" * 1025), ("KeyTooLongError", 400)),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key="a", StorageClass="ICE"), ("InvalidStorageClass", 400)),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key="a", Metadata={"a": "b" * 2048}), ("MetadataTooLarge", 400)),
        (lambda s3: s3.copy_object(Bucket=BUCKET, Key="a", CopySource=f"{BUCKET}/b"), ("NotImplemented", 501)),
        (lambda s3: s3.get_bucket_acl(Bucket=BUCKET), ("NotImplemented", 501)),
        (lambda s3: s3.get_object_tagging(Bucket=BUCKET, Key="a"), ("NotImplemented", 501)),
        (lambda s3: s3.get_object(Bucket=BUCKET, Key="a", VersionId="1"), ("NotImplemented", 501)),
        (lambda s3: s3.list_objects(Bucket=BUCKET), ("NotImplemented", 501)),
        (lambda s3: s3.get_object(Bucket=BUCKET, Key="a", Range="bytes=7-"), ("InvalidRange", 416)),
        (lambda s3: s3.upload_part(Bucket=BUCKET, Key="a", UploadId="../x", PartNumber=1), ("NoSuchUpload", 404)),
        (lambda s3: s3.upload_part(Bucket=BUCKET, Key="a", UploadId="x", PartNumber=0), ("InvalidArgument", 400)),
        (lambda s3: s3.get_object(Bucket=BUCKET, Key="a", ExpectedBucketOwner="9" * 12), ("AccessDenied", 403)),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key="a", ContentMD5="AAAA"), ("InvalidDigest", 400)),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key="a", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA=="), ("BadDigest", 400)),
        (lambda s3: s3.put_object(Bucket=BUCKET, Key="a", ChecksumSHA256="A" * 43 + "="), ("BadDigest", 400)),
    ],
)
def test_refusals(s3: Any, call: Callable[[Any], Any], expected: tuple[str, int]) -> None:
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"before")
    assert code_of(lambda: call(s3)) == expected
    assert s3.get_object(Bucket=BUCKET, Key="a")["Body"].read() == b"before"


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
@pytest.mark.parametrize("body", [b"", b"some content", PART])
def test_checksums_of_clients_are_compared(s3: Any, algorithm: str, body: bytes) -> None:
    s3.put_object(Bucket=BUCKET, Key="checked", Body=io.BytesIO(body), ChecksumAlgorithm=algorithm)
    assert s3.get_object(Bucket=BUCKET, Key="checked")["Body"].read() == body


def test_buckets(server: S3Server) -> None:
    s3 = server.client
    s3.create_bucket(Bucket="second-bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    s3.create_bucket(Bucket="second-bucket")
    assert [one["Name"] for one in s3.list_buckets()["Buckets"]] == [BUCKET, "second-bucket"]
    assert s3.get_bucket_location(Bucket="second-bucket")["LocationConstraint"] is None
    s3.head_bucket(Bucket="second-bucket")
    s3.delete_bucket(Bucket="second-bucket")
    assert code_of(lambda: s3.head_bucket(Bucket="second-bucket")) == ("404", 404)


def test_accounts_do_not_see_each_others_buckets(server: S3Server) -> None:
    has_file = server.running.settings.credentials is not None
    other = server.client_of(OTHER_KEY, OTHER_SECRET) if has_file else server.client_of("123456789012")
    server.client.put_object(Bucket=BUCKET, Key="mine", Body=b"mine")
    for call in (
        lambda: other.get_object(Bucket=BUCKET, Key="mine"),
        lambda: other.put_object(Bucket=BUCKET, Key="mine", Body=b"yours"),
        lambda: other.delete_object(Bucket=BUCKET, Key="mine"),
        lambda: other.list_objects_v2(Bucket=BUCKET),
        lambda: other.create_multipart_upload(Bucket=BUCKET, Key="mine"),
    ):
        assert code_of(call) == ("AccessDenied", 403)
    assert code_of(lambda: other.create_bucket(Bucket=BUCKET)) == ("BucketAlreadyExists", 409)
    assert other.list_buckets()["Buckets"] == []
    (server.root / "by-hand").mkdir()
    other.put_object(Bucket="by-hand", Key="ours", Body=b"ours")
    assert server.client.get_object(Bucket="by-hand", Key="ours")["Body"].read() == b"ours"
    server.client.delete_object(Bucket="by-hand", Key="ours")
    server.client.delete_bucket(Bucket="by-hand")
    server.client.delete_object(Bucket=BUCKET, Key="mine")


def test_uploads_of_a_deleted_bucket_are_nobodys(server: S3Server) -> None:
    has_file = server.running.settings.credentials is not None
    other = server.client_of(OTHER_KEY, OTHER_SECRET) if has_file else server.client_of("123456789012")
    server.client.create_bucket(Bucket="passes-on")
    upload = {"Bucket": "passes-on", "Key": "confidential"}
    upload["UploadId"] = server.client.create_multipart_upload(**upload, Metadata={"a": "b"})["UploadId"]
    etag = server.client.upload_part(**upload, PartNumber=1, Body=b"secret")["ETag"]
    server.client.delete_bucket(Bucket="passes-on")
    assert os.listdir(server.root / ".hashrange" / "uploads") == []
    other.create_bucket(Bucket="passes-on")
    assert "Uploads" not in other.list_multipart_uploads(Bucket="passes-on")
    for call in (
        lambda: other.list_parts(**upload),
        lambda: other.abort_multipart_upload(**upload),
        lambda: other.upload_part(**upload, PartNumber=2, Body=b""),
        lambda: other.complete_multipart_upload(**upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]}),
    ):
        assert code_of(call) == ("NoSuchUpload", 404)
    other.delete_bucket(Bucket="passes-on")


def test_an_upload_is_as_old_as_its_beginning(server: S3Server) -> None:
    """It was as old as its last part, and so was its place among those of its key."""
    s3, upload = server.client, {"Bucket": BUCKET, "Key": "aged"}
    ids = [s3.create_multipart_upload(**upload)["UploadId"] for _ in range(2)]
    os.utime(server.root / ".hashrange" / "uploads" / ids[0] / "upload.json", ns=(0, 10**18))
    s3.upload_part(**upload, UploadId=ids[0], PartNumber=1, Body=b"")
    found = s3.list_multipart_uploads(Bucket=BUCKET, Prefix="aged")["Uploads"]
    assert ([one["UploadId"] for one in found], found[0]["Initiated"].timestamp()) == (ids, 10**9)
    for one in ids:
        s3.abort_multipart_upload(**upload, UploadId=one)


@pytest.mark.parametrize("version", ["s3v4", "default"])
def test_presigned_urls(server: S3Server, s3: Any, version: str) -> None:
    client = server.client_of(signature_version="s3v4") if version == "s3v4" else s3
    s3.put_object(Bucket=BUCKET, Key="a b", Body=b"content", ContentType="text/html")
    members = {"Bucket": BUCKET, "Key": "a b", "ResponseContentDisposition": "attachment"}
    url = client.generate_presigned_url("get_object", Params=members)
    with urllib.request.urlopen(url) as reply:
        assert reply.read() == b"content"
        assert reply.headers["Content-Disposition"] == "attachment"
        assert reply.headers["Content-Security-Policy"] == "sandbox"
    put = client.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": "put", "ContentType": "text/x"})
    request = urllib.request.Request(put, b"by URL", {"Content-Type": "text/x"}, method="PUT")
    with urllib.request.urlopen(request) as reply:
        assert reply.status == 200
    assert s3.get_object(Bucket=BUCKET, Key="put")["ContentType"] == "text/x"
    over = client.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "put"}, ExpiresIn=-10)
    injected = members | {"ResponseContentDisposition": "a\r\nSet-Cookie: b"}
    forged = url.replace("a%20b", "put")
    for hostile, code in (
        (over, b"AccessDenied" if version == "default" else b""),
        (client.generate_presigned_url("get_object", Params=injected), b"InvalidArgument"),
        *([(forged, b"SignatureDoesNotMatch")] if server.running.settings.credentials else []),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(hostile)
        assert code in caught.value.read()
        caught.value.close()
