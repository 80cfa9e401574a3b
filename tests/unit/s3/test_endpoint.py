"""An endpoint as an S3: the server's own S3, and servers that break off, stay silent or talk nonsense."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from hashrange.s3 import endpoint as endpoint_module
from hashrange.s3 import folder_uploads, opening
from hashrange.s3.endpoint import S3Endpoint
from hashrange.s3.objects import CHUNK_BYTES_MAX, ObjectInfo, ObjectOptions, S3Failure
from hashrange.settings import Settings
from tests.support.signing import ACCESS_KEY, SECRET_KEY
from tests.unit.server.s3_servers import BUCKET, S3Server, s3_server

ACCOUNT = "000000000000"
LONG = bytes(range(256)) * 4096 * 3


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The usual variables of AWS; a missing file of settings."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """The server's own S3."""
    folder = tmp_path_factory.mktemp("s3")
    credentials = folder / "credentials.toml"
    credentials.write_text(f'[[credential]]\naccess_key = "{ACCESS_KEY}"\nsecret_key = "{SECRET_KEY}"\n')
    with s3_server(folder / "buckets", credentials=str(credentials)) as found:
        yield found


@contextmanager
def objects_at(port: int) -> Iterator[S3Endpoint]:
    """The S3 at a port."""
    found = S3Endpoint(f"http://127.0.0.1:{port}", None, is_virtual=False)
    try:
        yield found
    finally:
        asyncio.run(found.close())


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    """Content as it is written."""
    for one in content:
        yield one


async def read_all(objects: S3Endpoint, key: str, start: int = 0, etag: str = "") -> list[bytes]:
    """The chunks of an object."""
    return [one async for one in objects.read(BUCKET, key, start, etag=etag)]


async def keys_of(objects: S3Endpoint, prefix: str) -> list[str]:
    """The keys of a list."""
    return [one.key async for one in objects.list_objects(BUCKET, prefix)]


def test_objects_are_written_listed_and_read(server: S3Server) -> None:
    with objects_at(server.port) as objects:
        options = ObjectOptions("application/json", "AES256", storage_class="STANDARD_IA")
        etag = asyncio.run(objects.write(BUCKET, "dir/ü 1", pieces(LONG[:1000], b"", LONG[1000:]), options))
        chunks = asyncio.run(read_all(objects, "dir/ü 1", etag=etag))
        assert b"".join(chunks) == LONG
        assert max(map(len, chunks)) <= CHUNK_BYTES_MAX
        assert b"".join(asyncio.run(read_all(objects, "dir/ü 1", 3_000_000))) == LONG[3_000_000:]
        assert asyncio.run(read_all(objects, "dir/ü 1", len(LONG))) == []
        asyncio.run(objects.write(BUCKET, "dir/empty", pieces()))
        assert asyncio.run(read_all(objects, "dir/empty")) == []
        assert asyncio.run(keys_of(objects, "dir/")) == ["dir/empty", "dir/ü 1"]
        head = server.client.head_object(Bucket=BUCKET, Key="dir/ü 1")
        assert (head["ContentType"], head["StorageClass"]) == ("application/json", "STANDARD_IA")
        assert head["ETag"] == f'"{etag}"'


def test_a_list_has_all_pages(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashrange.s3.api import list_objects_v2

    monkeypatch.setattr(list_objects_v2, "LIST_KEYS_MAX", 3)
    with objects_at(server.port) as objects:
        for number in range(8):
            asyncio.run(objects.write(BUCKET, f"page/{number}", pieces(b"x")))
        assert asyncio.run(keys_of(objects, "page/")) == [f"page/{number}" for number in range(8)]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 64 KB."""
    monkeypatch.setattr(endpoint_module, "PART_BYTES", 64 * 1024)
    monkeypatch.setattr(endpoint_module, "PART_BYTES_MOST", 256 * 1024)
    monkeypatch.setattr(endpoint_module, "PARTS_OF_A_SIZE", 3)
    monkeypatch.setattr(folder_uploads, "PART_BYTES_MIN", 64 * 1024)


@pytest.mark.usefixtures("small_parts")
def test_a_long_object_is_sent_in_parts_that_grow(server: S3Server) -> None:
    with objects_at(server.port) as objects:
        cut = [LONG[start : start + 100_000] for start in range(0, len(LONG), 100_000)]
        etag = asyncio.run(objects.write(BUCKET, "parts", pieces(*cut), ObjectOptions(encryption="AES256")))
        assert etag.endswith(f"-{3 + 3 + 10}")
        assert b"".join(asyncio.run(read_all(objects, "parts"))) == LONG
        assert "Uploads" not in server.client.list_multipart_uploads(Bucket=BUCKET)


@pytest.mark.usefixtures("small_parts")
def test_a_write_that_fails_or_is_cancelled_is_aborted(server: S3Server) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield LONG[:100_000]
        raise LookupError("the source is gone")

    async def cancelled(objects: S3Endpoint) -> None:
        begun = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            yield LONG[:100_000]
            begun.set()
            await asyncio.Event().wait()

        writing = asyncio.create_task(objects.write(BUCKET, "never", endless()))
        await begun.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    from tests.support.waiting import wait_until

    with objects_at(server.port) as objects:
        with pytest.raises(LookupError):
            asyncio.run(objects.write(BUCKET, "never", broken()))
        asyncio.run(cancelled(objects))
        wait_until(lambda: "Uploads" not in server.client.list_multipart_uploads(Bucket=BUCKET))
        with pytest.raises(S3Failure) as caught:
            asyncio.run(read_all(objects, "never"))
        assert (caught.value.code, caught.value.http_status) == ("NoSuchKey", 404)
        assert caught.value.message == "The specified key does not exist."


def test_errors_have_the_codes_and_words_of_s3(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(objects: S3Endpoint, bucket: str, owner: str) -> None:
        async with aclosing(objects.list_objects(bucket, "", owner=owner)) as found:
            await anext(found)

    def first(bucket: str, owner: str = "") -> None:
        with objects_at(server.port) as objects:
            asyncio.run(ask(objects, bucket, owner))

    for bucket, owner, code, words in (
        ("no-bucket", "", "NoSuchBucket", "The specified bucket does not exist"),
        (BUCKET, "123456789012", "AccessDenied", "Access Denied"),
    ):
        with pytest.raises(S3Failure) as caught:
            first(bucket, owner)
        assert (caught.value.code, caught.value.message) == (code, words)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(S3Failure) as caught:
        first(BUCKET)
    assert caught.value.code == "SignatureDoesNotMatch"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(S3Failure) as caught:
        first(BUCKET)
    assert (caught.value.code, caught.value.message) == ("AccessDenied", "Unable to locate credentials.")


def test_an_object_that_is_replaced_while_it_is_read_is_refused(server: S3Server) -> None:
    async def read(objects: S3Endpoint) -> None:
        async with aclosing(objects.read(BUCKET, "replaced")) as chunks:
            await anext(chunks)
            await objects.write(BUCKET, "replaced", pieces(b"other"))
            with pytest.raises(S3Failure) as caught:
                async for _ in objects.read(BUCKET, "replaced", 1, etag="0" * 32):
                    pass
            assert caught.value.code == "PreconditionFailed"

    with objects_at(server.port) as objects:
        asyncio.run(objects.write(BUCKET, "replaced", pieces(LONG)))
        asyncio.run(read(objects))


# --- endpoints that break ----------------------------------------------------------------------------------------


@contextmanager
def answering(*replies: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server that gives one of these replies to each connection, the last one to all further ones, and then ends the
    connection; b"" is silence. Yields its port, and the requests as they came.
    """
    received: list[bytes] = []
    silent: list[socket.socket] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            data = connection.recv(65536)
            reply = replies[min(len(received), len(replies) - 1)]
            received.append(data)
            if not reply:
                silent.append(connection)
                continue
            connection.sendall(reply)
            connection.close()

    thread = Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1], received
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for one in silent:
            one.close()


def content(body: bytes, length: int, lines: bytes = b"", status: bytes = b"200 OK") -> bytes:
    return b'HTTP/1.1 %b\r\nETag: "e"\r\n%bContent-Length: %d\r\nConnection: close\r\n\r\n%b' % (
        status,
        lines,
        length,
        body,
    )


def test_content_goes_on_where_a_connection_broke_off() -> None:
    partial = b"206 Partial Content"
    with (
        answering(content(b"abcd", 10), content(b"ef", 6, status=partial), content(b"ghij", 4, status=partial)) as (
            port,
            received,
        ),
        objects_at(port) as objects,
    ):
        assert b"".join(asyncio.run(read_all(objects, "key"))) == b"abcdefghij"
    assert [b"range: bytes=4-" in one.lower() for one in received] == [False, True, False]
    assert b"range: bytes=6-" in received[2].lower()
    assert all(b'if-match: "e"' in one.lower() for one in received[1:])


def test_an_endpoint_that_knows_no_conditions_gives_no_mixture() -> None:
    """The object is replaced between two connections; the endpoint sends the new one, whatever If-Match says."""
    other = content(b"NEWONE", 6).replace(b'"e"', b'"f"')
    with answering(content(b"abcd", 10), other) as (port, _), objects_at(port) as objects:
        with pytest.raises(S3Failure) as caught:
            asyncio.run(read_all(objects, "key"))
        assert caught.value.code == "PreconditionFailed"


def test_a_list_may_lack_etags() -> None:
    page = b"<ListBucketResult><Contents><Key>a</Key><Size>3</Size></Contents></ListBucketResult>"
    with answering(content(page, len(page))) as (port, _), objects_at(port) as objects:

        async def infos() -> list[ObjectInfo]:
            return [one async for one in objects.list_objects(BUCKET, "")]

        assert asyncio.run(infos()) == [ObjectInfo("a", 3, "")]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience of a moment."""
    monkeypatch.setattr(endpoint_module, "SILENT_SECONDS_MAX", 0.05)
    monkeypatch.setattr(endpoint_module, "TRIES_MAX", 2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("reply", "tries"),
    [(b"", 2), (content(b"", 10), 2), (b"nonsense\r\n\r\n", 2), (content(b"", 0, status=b"503 No"), 2)],
)
def test_patience_is_bounded(reply: bytes, tries: int) -> None:
    with answering(reply) as (port, received), objects_at(port) as objects:
        with pytest.raises(S3Failure) as caught:
            asyncio.run(read_all(objects, "key"))
        assert caught.value.http_status == 503
        assert len(received) == tries
        if not reply:
            assert f"http://127.0.0.1:{port} does not answer" in caught.value.message


@pytest.mark.usefixtures("impatient")
def test_nobody_listens_and_the_loop_goes_on() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    listening.close()
    turns = 0

    async def both(objects: S3Endpoint) -> None:
        nonlocal turns
        reading = asyncio.create_task(read_all(objects, "key"))
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        await reading

    with objects_at(port) as objects, pytest.raises(S3Failure, match="does not answer"):
        asyncio.run(both(objects))
    assert turns > 2


def test_settings_say_which_s3_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert opening.objects_of_settings(Settings(s3_folder=str(tmp_path / "s3")))(ACCOUNT)
    assert opening.objects_of_settings(Settings(s3_endpoint="http://localhost:9000"))(ACCOUNT)
    assert opening.missing_s3(Settings(s3_folder=str(tmp_path / "s3"))) is None
    assert opening.missing_s3(Settings(s3_endpoint="http://localhost:9000")) is None
    assert "--s3-folder DIR" in str(opening.missing_s3(Settings()))
    monkeypatch.setattr(endpoint_module, "is_installed", lambda: False)
    assert 'pip install ".[s3]"' in str(opening.missing_s3(Settings(s3_endpoint="http://localhost:9000")))
