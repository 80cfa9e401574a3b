"""Uploads in parts end with their bucket, and are their account's: whoever takes the bucket's name finds nothing."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.s3 import whole_files
from hashrange.s3.folder import S3Folder
from hashrange.s3.folder_uploads import UploadRecord, WantedPart
from hashrange.s3.objects import S3Failure

ACCOUNT, OTHER, REGION = "000000000000", "123456789012", "us-east-1"
BUCKET, KEY = "shared", "confidential/plan.pdf"
ETAG = md5(b"secret").hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> S3Folder:
    """An S3 with one bucket."""
    made = S3Folder(str(tmp_path / "s3"))
    made.files.create_bucket(BUCKET, ACCOUNT, REGION)
    return made


def begin(folder: S3Folder, key: str = KEY, account: str = ACCOUNT, bucket: str = BUCKET) -> str:
    """Begin an upload and send a part; returns its id."""
    upload_id = folder.uploads.create(bucket, key, account, {})
    file = folder.files.begin_file()
    file.write(b"secret")
    folder.uploads.put_part(upload_id, 1, file, ETAG)
    return upload_id


def own_files(folder: S3Folder, *names: str) -> list[str]:
    """The files, and empty folders, that the server keeps beside objects."""
    found = []
    for name in names or ("uploads", "discarded", "objects", "receiving"):
        for path, folders, files in os.walk(os.path.join(folder.files.root, ".hashrange", name)):
            found += [os.path.join(path, one) for one in [*folders, *files]]
    return found


def begun_anew(folder: S3Folder) -> S3Folder:
    """The same folder in a new process, once it has deleted what was left."""
    made = S3Folder(folder.files.root)
    for thread in made._threads:
        asyncio.run(thread.run(lambda: None))
    return made


def delete_by_call(folder: S3Folder) -> None:
    folder.delete_bucket(BUCKET, ACCOUNT)


def delete_by_hand(folder: S3Folder) -> None:
    shutil.rmtree(os.path.join(folder.files.root, BUCKET))


@pytest.mark.parametrize("taker", [ACCOUNT, OTHER])
@pytest.mark.parametrize("delete", [delete_by_call, delete_by_hand])
def test_an_upload_ends_with_its_bucket(folder: S3Folder, delete: Callable[[S3Folder], None], taker: str) -> None:
    upload_id = begin(folder)
    delete(folder)
    folder.files.create_bucket(BUCKET, taker, REGION)
    asked: list[Callable[[], Any]] = [
        lambda: folder.uploads.require(upload_id, BUCKET, KEY, taker),
        lambda: folder.uploads.complete(upload_id, UploadRecord(BUCKET, KEY, taker, {}), [WantedPart(1, ETAG)]),
    ]
    for ask in asked:
        with pytest.raises(S3Failure) as caught:
            ask()
        assert caught.value.code in {"NoSuchUpload", "InvalidPart"}
    assert folder.uploads.uploads_of(BUCKET, taker) == []
    begun_anew(folder)
    assert own_files(folder) == []


def test_a_deleted_bucket_leaves_nothing(folder: S3Folder) -> None:
    folder.files.create_bucket("another", ACCOUNT, REGION)
    kept = begin(folder, bucket="another")
    for _ in range(3):
        begin(folder)
        begin(folder, "another key")
        folder.delete_bucket(BUCKET, ACCOUNT)
        assert [one.upload_id for one in folder.uploads.uploads_of("another", ACCOUNT)] == [kept]
        folder.files.create_bucket(BUCKET, ACCOUNT, REGION)
    folder.uploads.delete(kept)
    assert own_files(folder) == []


def test_a_bucket_with_many_uploads_waits_for_the_disk_once(folder: S3Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        folder.uploads.create(BUCKET, KEY, ACCOUNT, {})
    syncs: list[int] = []
    monkeypatch.setattr(os, "fsync", syncs.append)
    folder.delete_bucket(BUCKET, ACCOUNT)
    assert own_files(folder) == []
    assert len(syncs) <= 2


def test_an_upload_to_everybodys_bucket_is_its_accounts(folder: S3Folder) -> None:
    os.mkdir(os.path.join(folder.files.root, "by-hand"))
    upload_id = begin(folder, bucket="by-hand")
    assert folder.uploads.uploads_of("by-hand", OTHER) == []
    with pytest.raises(S3Failure, match="does not exist"):
        folder.uploads.require(upload_id, "by-hand", KEY, OTHER)
    assert folder.uploads.require(upload_id, "by-hand", KEY, ACCOUNT).account == ACCOUNT
    folder.delete_bucket("by-hand", OTHER)
    assert own_files(folder) == []


def test_a_start_deletes_uploads_without_a_bucket_and_no_others(folder: S3Folder) -> None:
    kept = begin(folder)
    for record in (
        UploadRecord("gone", KEY, ACCOUNT, {}),
        UploadRecord(BUCKET, KEY, OTHER, {}),
        UploadRecord(BUCKET, KEY, ACCOUNT, {}, "an earlier one"),
    ):
        begin(folder)
        for one in folder.uploads.uploads_of(BUCKET, ACCOUNT):
            if one.upload_id != kept:
                path = Path(folder.files.uploads, one.upload_id, "upload.json")
                path.write_bytes(msgspec.json.encode(record))
    Path(folder.files.uploads, begin(folder, "half"), "upload.json").unlink()
    begun_anew(folder)
    assert os.listdir(folder.files.uploads) == [kept]
    assert own_files(folder, "discarded") == []


def test_an_earlier_versions_bucket_keeps_its_uploads(folder: S3Folder) -> None:
    """Its record has no id, and neither have those of its uploads."""
    record = {"account": ACCOUNT, "region": REGION}
    Path(folder.files.root, ".hashrange", "buckets", f"{BUCKET}.json").write_bytes(msgspec.json.encode(record))
    upload_id = begin(folder)
    path = Path(folder.files.uploads, upload_id, "upload.json")
    written = msgspec.json.decode(path.read_bytes())
    assert written.pop("bucket_id") == ""
    path.write_bytes(msgspec.json.encode(written))
    again = begun_anew(folder)
    assert again.uploads.require(upload_id, BUCKET, KEY, ACCOUNT).key == KEY
    again.delete_bucket(BUCKET, ACCOUNT)
    assert own_files(folder) == []


def test_what_a_kill_has_left_half_deleted_goes_with_the_next_start(
    folder: S3Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(folder)
    monkeypatch.setattr(folder.files.discarded, "delete", lambda _taken: None)
    folder.delete_bucket(BUCKET, ACCOUNT)
    assert own_files(folder, "uploads") == []
    assert own_files(folder, "discarded") != []
    begun_anew(folder)
    assert own_files(folder) == []


@pytest.mark.parametrize("is_made_again", [True, False])
def test_an_upload_that_is_completed_while_its_bucket_goes_makes_no_object(
    folder: S3Folder, is_made_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_id = begin(folder)
    record = folder.uploads.require(upload_id, BUCKET, KEY, ACCOUNT)
    copy = whole_files.NewFile.copy_from

    def meanwhile(self: whole_files.NewFile, descriptor: int, size_bytes: int) -> None:
        copy(self, descriptor, size_bytes)
        folder.delete_bucket(BUCKET, ACCOUNT)
        if is_made_again:
            folder.files.create_bucket(BUCKET, ACCOUNT, REGION)

    monkeypatch.setattr(whole_files.NewFile, "copy_from", meanwhile)
    with pytest.raises(S3Failure) as caught:
        folder.uploads.complete(upload_id, record, [WantedPart(1, ETAG)])
    assert caught.value.code == ("NoSuchUpload" if is_made_again else "NoSuchBucket")
    assert own_files(folder) == []
    if is_made_again:
        assert os.listdir(os.path.join(folder.files.root, BUCKET)) == []


@pytest.mark.parametrize("event", ["the upload is aborted", "the part is replaced"])
def test_a_part_that_goes_before_it_is_copied_is_told(
    folder: S3Folder, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_id = begin(folder)
    record = folder.uploads.require(upload_id, BUCKET, KEY, ACCOUNT)
    parts = folder.uploads.parts

    def meanwhile(asked: str) -> Any:
        monkeypatch.undo()
        found = parts(asked)
        if event == "the upload is aborted":
            folder.uploads.delete(asked)
        else:
            folder.uploads.put_part(asked, 1, folder.files.begin_file(), md5().hexdigest())
        return found

    monkeypatch.setattr(folder.uploads, "parts", meanwhile)
    with pytest.raises(S3Failure) as caught:
        folder.uploads.complete(upload_id, record, [WantedPart(1, ETAG)])
    assert caught.value.code == ("NoSuchUpload" if event == "the upload is aborted" else "InvalidPart")
    assert own_files(folder, "receiving") == []


def test_uploads_of_one_moment_are_in_the_order_of_their_beginnings(
    folder: S3Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    coarse = os.stat_result((0,) * 19, {"st_mtime_ns": 10**18})
    monkeypatch.setattr(whole_files.NewFile, "change_time", lambda _file, _other_ns: coarse)
    ids = [folder.uploads.create(BUCKET, KEY, ACCOUNT, {}) for _ in range(20)]
    assert [one.upload_id for one in folder.uploads.uploads_of(BUCKET, ACCOUNT)] == ids


def test_an_upload_begins_only_in_a_bucket_of_the_account(folder: S3Folder) -> None:
    with pytest.raises(S3Failure, match="Access Denied"):
        begin(folder, account=OTHER)
    folder.delete_bucket(BUCKET, ACCOUNT)
    with pytest.raises(S3Failure, match="bucket does not exist"):
        begin(folder)
    assert own_files(folder) == []


def test_records_of_objects_do_not_pass_to_the_next_bucket(folder: S3Folder) -> None:
    """The next account's file may happen to have the size and time of one of the former account's."""
    for delete in (delete_by_hand, _delete_objects_by_hand):
        file = folder.files.begin_file()
        file.write(b"12345")
        folder.files.place(BUCKET, "deep/" * 300 + KEY, file, "etag", {"x-amz-meta-secret": "plan"}, ACCOUNT)
        found = os.stat(os.path.join(folder.files.root, BUCKET, "deep/" * 300 + KEY))
        delete(folder)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(200)
        try:
            if delete is not delete_by_hand:
                folder.delete_bucket(BUCKET, ACCOUNT)
                assert own_files(folder) == []
            folder.files.create_bucket(BUCKET, OTHER, REGION)
        finally:
            sys.setrecursionlimit(limit)
        assert own_files(folder) == []
        assert folder.files.record_of(BUCKET, "deep/" * 300 + KEY, found).headers == {}
        folder.delete_bucket(BUCKET, OTHER)
        folder.files.create_bucket(BUCKET, ACCOUNT, REGION)


def _delete_objects_by_hand(folder: S3Folder) -> None:
    shutil.rmtree(os.path.join(folder.files.root, BUCKET, "deep"))


@pytest.mark.parametrize("ask", ["read", "list"])
def test_the_next_accounts_objects_are_not_the_former_ones(
    folder: S3Folder, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name passes to another account between the question whose bucket it is and the work."""
    own = asyncio.run(_with_a_bucket_that_passes_on(folder, ask, monkeypatch))
    assert own.code == "AccessDenied"
    assert os.listdir(os.path.join(folder.files.root, BUCKET)) == ["theirs"]


async def _with_a_bucket_that_passes_on(folder: S3Folder, ask: str, monkeypatch: pytest.MonkeyPatch) -> S3Failure:
    files = folder.files
    require, calls = files.require_bucket, iter(range(9))

    def pass_on() -> None:
        folder.delete_bucket(BUCKET, ACCOUNT)
        files.create_bucket(BUCKET, OTHER, REGION)
        file = files.begin_file()
        file.write(b"theirs")
        files.place(BUCKET, "theirs", file, "etag", {}, OTHER)

    def required(bucket: str, account: str, owner: str = "") -> Any:
        found = require(bucket, account, owner)
        if account == ACCOUNT and next(calls) == 0:
            pass_on()
        return found

    monkeypatch.setattr(files, "require_bucket", required)
    objects = folder.objects_of(ACCOUNT)
    with pytest.raises(S3Failure) as caught:
        if ask == "read":
            await anext(objects.read(BUCKET, "theirs"))
        else:
            await anext(objects.list_objects(BUCKET, ""))
    return caught.value


def test_a_bucket_passes_to_nobody_between_the_question_whose_it_is_and_a_delete(
    folder: S3Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    require, changes = folder.files.require_bucket, folder.files.changes
    are_free: list[bool] = []

    def required(bucket: str, account: str, owner: str = "") -> Any:
        with ThreadPoolExecutor(1) as another:
            are_free.append(another.submit(changes.acquire, blocking=False).result())
        return require(bucket, account, owner)

    monkeypatch.setattr(folder.files, "require_bucket", required)
    assert not folder.files.delete_object(BUCKET, "a", ACCOUNT)
    folder.delete_bucket(BUCKET, ACCOUNT)
    assert are_free == [False, False]
