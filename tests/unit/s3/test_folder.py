"""A folder as an S3: what is written is read and listed, whatever the keys are, and nothing leads out of it."""

import asyncio
import inspect
import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.s3 import folder_files, whole_files
from hashrange.s3.folder import S3Folder, open_folder
from hashrange.s3.folder_walk import FolderWalk, ListRange
from hashrange.s3.objects import CHUNK_BYTES_MAX, ObjectOptions, S3Failure
from hashrange.settings import SettingUnusable
from tests.unit.s3.test_key_paths import HOSTILE

ACCOUNT, OTHER = "000000000000", "123456789012"
BUCKET = "photos"
LONG = "x" * 178
DEEP = "/" * 300
KEYS = [
    *(key for key in HOSTILE if key != "/" * 1024),
    "/" * 50,
    *("a", "a/b", "a/b/c", "A", "e\u0301", "é", ".hidden", ".hashrange/x", "日本/東京"),
    *(LONG + end for end in ("", "-", "z", "zz", "zzz", "\U0001f600", "\U0001f600y", "/q", "zzzz/q")),
]


@pytest.fixture
def folder(tmp_path: Path) -> S3Folder:
    """An S3 with one bucket."""
    made = S3Folder(str(tmp_path / "s3"))
    made.files.create_bucket(BUCKET, ACCOUNT, "us-east-1")
    return made


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    """Content as it is written."""
    for one in content:
        yield one


def put(folder: S3Folder, key: str, content: bytes, options: ObjectOptions | None = None) -> str:
    """Write an object; returns its ETag."""
    objects = folder.objects_of(ACCOUNT)
    return asyncio.run(objects.write(BUCKET, key, pieces(content), options or ObjectOptions()))


def get(folder: S3Folder, key: str, start: int = 0, etag: str = "") -> bytes:
    """The content of an object."""

    async def whole() -> bytes:
        return b"".join([one async for one in folder.objects_of(ACCOUNT).read(BUCKET, key, start, etag=etag)])

    return asyncio.run(whole())


def listed(folder: S3Folder, prefix: str = "") -> list[str]:
    """The keys that are listed."""

    async def keys() -> list[str]:
        return [one.key async for one in folder.objects_of(ACCOUNT).list_objects(BUCKET, prefix)]

    return asyncio.run(keys())


def delete(folder: S3Folder, key: str) -> None:
    """Delete an object."""
    folder.files.delete_object(BUCKET, key, ACCOUNT)


def left_over(folder: S3Folder) -> list[str]:
    """Files that are being written, or that nobody has finished."""
    return os.listdir(folder.files.receiving)


def in_order(keys: list[str]) -> list[str]:
    return sorted(keys, key=str.encode)


def test_every_key_is_kept_listed_and_deleted(folder: S3Folder) -> None:
    keys = list(KEYS)
    random.Random(7).shuffle(keys)
    for key in keys:
        put(folder, key, key.encode())
    assert listed(folder) == in_order(keys)
    for prefix in ("a", "a/", "x", LONG, "/", "..", "é", "nothing such"):
        assert listed(folder, prefix) == in_order([key for key in keys if key.startswith(prefix)])
    assert [get(folder, key) for key in keys] == [key.encode() for key in keys]
    random.Random(8).shuffle(keys)
    while keys:
        delete(folder, keys.pop())
        if len(keys) % 8 == 0:
            assert listed(folder) == in_order(keys)
    root = folder.files.root
    assert sorted(os.listdir(root)) == [".hashrange", BUCKET]
    assert os.listdir(f"{root}/{BUCKET}") == []
    assert os.listdir(f"{root}/.hashrange/objects/{BUCKET}") == []
    assert left_over(folder) == []


@pytest.mark.parametrize("seed", range(2))
def test_random_writes_deletes_and_pages_agree_with_a_dict(folder: S3Folder, seed: int) -> None:
    rng = random.Random(seed)
    alphabet = ["a", "b", "/", "-", "0", LONG, "\U0001f600", ".", ""]
    kept: dict[str, bytes] = {}
    for step in range(80):
        key = "".join(rng.choices(alphabet, k=4)) or "a"
        if rng.random() < 0.3:
            delete(folder, key)
            kept.pop(key, None)
        else:
            kept[key] = str(step).encode()
            put(folder, key, kept[key])
    keys = in_order(list(kept))
    assert listed(folder) == keys
    root = folder.files.bucket_folder(BUCKET, ACCOUNT)
    for _ in range(60):
        prefix, after = rng.choice(["", "a", "a/", "/", LONG[:50]]), rng.choice([b"", *map(str.encode, keys)])
        delimiter = rng.choice(["", "/", "-", "a"])
        expected: list[str] = []
        for key in keys:
            if not key.startswith(prefix) or key.encode() <= after:
                continue
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            common = key if end < 0 else key[: end + len(delimiter)]
            if common not in expected:
                expected.append(common)
        at_once = rng.choice([1, 2, 3, 1_000])
        walk = FolderWalk(root, ListRange(prefix, after, delimiter), folder.files.is_folding, at_once)
        assert [one.key for one in walk] == expected
    assert {key: get(folder, key) for key in keys} == kept


def test_an_object_and_a_folder_may_have_one_name(folder: S3Folder) -> None:
    put(folder, "a", b"1")
    put(folder, "a/b", b"2")
    assert (get(folder, "a"), get(folder, "a/b")) == (b"1", b"2")
    put(folder, "a", b"3")
    delete(folder, "a/b")
    put(folder, "a", b"4")
    assert get(folder, "a") == b"4"
    assert listed(folder) == ["a"]
    with pytest.raises(S3Failure, match="does not exist"):
        get(folder, "a/b")


def test_no_function_calls_itself_for_each_folder_of_a_key(folder: S3Folder) -> None:
    """A key may have a thousand; here, functions may call themselves less often than this key has folders."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + len(DEEP) // 2)
    try:
        put(folder, DEEP, b"deep")
        assert get(folder, DEEP) == b"deep"
        assert listed(folder) == [DEEP]
        delete(folder, DEEP)
    finally:
        sys.setrecursionlimit(limit)
    assert os.listdir(f"{folder.files.root}/{BUCKET}") == []


def test_chunks_are_bounded_and_start_anywhere(folder: S3Folder) -> None:
    content = bytes(range(256)) * 12_000
    etag = put(folder, "big", content, ObjectOptions("text/plain"))

    async def sizes() -> list[int]:
        return [len(one) async for one in folder.objects_of(ACCOUNT).read(BUCKET, "big")]

    assert max(asyncio.run(sizes())) == CHUNK_BYTES_MAX
    assert get(folder, "big", 3_000_000) == content[3_000_000:]
    assert get(folder, "big", len(content) + 1) == b""
    assert get(folder, "big", etag=etag) == content
    with pytest.raises(S3Failure) as caught:
        get(folder, "big", etag="0" * 32)
    assert (caught.value.code, caught.value.http_status) == ("PreconditionFailed", 412)


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda folder: get(folder, "nothing"), "NoSuchKey"),
        (lambda folder: get(folder, "a/nothing"), "NoSuchKey"),
        (lambda folder: folder.files.bucket_folder("no-bucket", ACCOUNT), "NoSuchBucket"),
        (lambda folder: folder.files.bucket_folder("..", ACCOUNT), "NoSuchBucket"),
        (lambda folder: folder.files.bucket_folder(".hashrange", ACCOUNT), "NoSuchBucket"),
        (lambda folder: folder.files.bucket_folder(BUCKET, OTHER), "AccessDenied"),
        (lambda folder: folder.files.bucket_folder(BUCKET, ACCOUNT, owner=OTHER), "AccessDenied"),
        (lambda folder: folder.files.create_bucket(BUCKET, OTHER, "us-east-1"), "BucketAlreadyExists"),
        (lambda folder: folder.files.create_bucket("../x", ACCOUNT, "us-east-1"), "InvalidBucketName"),
        (lambda folder: folder.files.delete_bucket(BUCKET, ACCOUNT), "BucketNotEmpty"),
    ],
)
def test_refusals_have_the_codes_of_s3(folder: S3Folder, ask: Callable[[S3Folder], Any], code: str) -> None:
    put(folder, "a", b"")
    with pytest.raises(S3Failure) as caught:
        ask(folder)
    assert caught.value.code == code


def test_a_bucket_that_somebody_has_made_by_hand_is_everybodys(folder: S3Folder) -> None:
    os.makedirs(f"{folder.files.root}/by-hand/deep")
    Path(f"{folder.files.root}/by-hand/deep/file.csv").write_bytes(b"a,b\n")

    async def read(account: str) -> list[bytes]:
        objects = folder.objects_of(account)
        infos = [one async for one in objects.list_objects("by-hand", "")]
        assert [(one.key, one.size_bytes) for one in infos] == [("deep/file.csv", 4)]
        return [one async for one in objects.read("by-hand", infos[0].key, etag=infos[0].etag)]

    assert [asyncio.run(read(account)) for account in (ACCOUNT, OTHER)] == [[b"a,b\n"]] * 2


def test_links_are_not_followed(folder: S3Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    bucket = f"{folder.files.root}/{BUCKET}"
    os.symlink(outside, f"{bucket}/folder")
    os.symlink(outside / "secret", f"{bucket}/file")
    os.symlink(outside, f"{folder.files.root}/linked-bucket")
    os.mkfifo(f"{bucket}/pipe")
    for key in ("folder/secret", "file", "pipe"):
        with pytest.raises(S3Failure) as caught:
            get(folder, key)
        assert caught.value.code == "NoSuchKey"
    for key in ("folder/new", "folder/secret", "file", "file/below", "pipe"):
        with pytest.raises(S3Failure) as caught:
            put(folder, key, b"mine")
        assert caught.value.code == "AccessDenied"
    with pytest.raises(S3Failure):
        delete(folder, "folder/secret")
    with pytest.raises(S3Failure):
        folder.files.bucket_folder("linked-bucket", ACCOUNT)
    assert listed(folder) == []
    assert (outside / "secret").read_bytes() == b"secret"
    assert os.listdir(outside) == ["secret"]
    assert left_over(folder) == []


def test_a_write_that_fails_or_is_cancelled_changes_nothing(folder: S3Folder) -> None:
    put(folder, "key", b"before")

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise LookupError("the source is gone")

    async def write(content: AsyncIterator[bytes]) -> None:
        await folder.objects_of(ACCOUNT).write(BUCKET, "key", content)

    with pytest.raises(LookupError):
        asyncio.run(write(broken()))

    async def cancelled() -> None:
        begun = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            yield b"half"
            begun.set()
            await asyncio.Event().wait()

        writing = asyncio.create_task(write(endless()))
        await begun.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await folder.objects_of(ACCOUNT).close()

    asyncio.run(cancelled())
    for thread in folder._threads:
        asyncio.run(thread.run(lambda: None))  # behind what discards the files
    assert get(folder, "key") == b"before"
    assert left_over(folder) == []


@pytest.mark.parametrize("call", ["fsync", "replace", "mkdir", "write"])
def test_a_file_system_that_fails_at_any_step_keeps_what_was_there(
    folder: S3Folder, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step with each number fails once, until a write meets no failure any more."""
    put(folder, "deep/key", b"before")
    real = getattr(os, call)
    for failing in range(30):
        calls = iter(range(1000))

        def fails(*arguments: Any, calls: Iterator[int] = calls, failing: int = failing, **named: Any) -> Any:
            if next(calls) == failing:
                raise OSError(28, "No space left on device")
            return real(*arguments, **named)

        monkeypatch.setattr(os, call, fails)
        try:
            put(folder, "deep/key", b"after")
        except S3Failure as failure:
            assert (failure.code, failure.http_status) == ("InternalError", 500)
            assert "no room left" in failure.message
            monkeypatch.undo()
            # Behind the rename, only the sync of the folder may fail: the new content is there, whole.
            assert get(folder, "deep/key") in (b"before", b"after")
            put(folder, "deep/key", b"before")
        else:
            break
        finally:
            monkeypatch.undo()
    assert get(folder, "deep/key") == b"after"
    assert left_over(folder) == []


def test_what_a_killed_process_has_left_is_deleted_and_what_others_write_is_not(folder: S3Folder) -> None:
    Path(folder.files.receiving, "left").write_bytes(b"half")
    writing = folder.files.begin_file()
    writing.write(b"whole")
    S3Folder(folder.files.root)
    assert len(left_over(folder)) == 1
    folder.files.place(BUCKET, "key", writing, "etag", {}, ACCOUNT)
    assert get(folder, "key") == b"whole"


def test_the_record_of_a_file_is_its_own_after_a_power_cut_before_the_rename(
    folder: S3Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = put(folder, "key", b"before", ObjectOptions("text/plain"))
    monkeypatch.setattr(whole_files.NewFile, "rename", _renames_records_only)
    with pytest.raises(S3Failure):
        put(folder, "key", b"after!", ObjectOptions("text/html"))
    monkeypatch.undo()
    file, record = folder.files.open_object(BUCKET, "key", ACCOUNT)
    file.close()
    assert (record.etag, record.headers) == (etag, {"content-type": "text/plain"})


_rename = whole_files.NewFile.rename


def _renames_records_only(self: whole_files.NewFile, path: str) -> None:
    if not path.endswith("%json"):
        raise OSError(5, "the power is cut")
    _rename(self, path)


def test_two_writes_in_a_moment_are_told_apart(folder: S3Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may write the same time for both, and their sizes are the same."""
    real = os.fstat

    def coarse(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        if found.st_mtime_ns % 1_000_000_000 != whole_files.TICK_NS:
            os.utime(descriptor, ns=(0, 0))
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", coarse)
    etags = [put(folder, "key", content) for content in (b"one", b"two")]
    _, record = folder.files.open_object(BUCKET, "key", ACCOUNT)
    assert record.etag == etags[1]


def test_a_folder_of_another_layout_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "s3"
    S3Folder(str(root))
    monkeypatch.setattr(folder_files, "_is_folding", lambda _: True)
    with pytest.raises(SettingUnusable, match="capitals"):
        S3Folder(str(root))
    (root / ".hashrange" / "format.json").write_text('{"format": 2, "is_folding": false}')
    with pytest.raises(SettingUnusable, match="version 2"):
        S3Folder(str(root))
    (root / ".hashrange" / "format.json").write_text("nonsense")
    with pytest.raises(SettingUnusable, match="cannot be read"):
        S3Folder(str(root))
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(SettingUnusable, match="must be a folder"):
        S3Folder(str(file))


def test_servers_of_a_process_share_a_folder(tmp_path: Path) -> None:
    first = open_folder(str(tmp_path / "s3"))
    assert open_folder(str(tmp_path / "." / "s3")) is first
