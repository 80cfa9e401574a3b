"""Parts of moving items: which words get placeholders, how requests are spread, and what an interrupted scan says."""

import json
import signal
import threading
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, WRONG_USE
from hashrange.cli.moved_items import MovedItems, time_told
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.moving.batch_writer import BatchWriter, WrittenBatch
from hashrange.toolkit.moving.direct_requests import is_as_sent
from hashrange.toolkit.moving.item_forms import page_text
from hashrange.toolkit.moving.keys import TableKeyAttribute
from hashrange.toolkit.moving.load_files import LoadFile
from hashrange.toolkit.moving.pages import ScanReader, ScanWish, decode_page
from hashrange.toolkit.moving.raw_client import THROTTLED_TRIES, RawClient, Stopped
from hashrange.toolkit.moving.record_reading import FileRecord
from hashrange.toolkit.moving.reserved_names import alias_reserved
from hashrange.toolkit.moving.table_load import LoadState, TableLoad
from hashrange.toolkit.moving.threads import THREADS_MAX, run_together
from hashrange.toolkit.moving.unit_pacer import UnitPacer
from hashrange.toolkit.target import TargetOptions, find_target
from tests.support.waiting import wait_until
from tests.unit.toolkit.moved_tables import Tables, lines_of, simple_items


@pytest.fixture
def tables(endpoint: str, tmp_path: Path, capsys: Any) -> Tables:
    return Tables(endpoint, tmp_path, capsys)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("status = :s", {}, "#status = :s"),
        ("Status = :s AND NOT begins_with(name, :n)", {}, "#Status = :s AND NOT begins_with(#name, :n)"),
        ("size(data) > :n and size > :m", {}, "size(#data) > :n and #size > :m"),
        ("a.status.b[0].c = :status", {}, "a.#status.b[0].c = :status"),
        ("statuses = :s OR my_status = :s", {}, "statuses = :s OR my_status = :s"),
        ("#status = :s and status = :s", {"#status": "state"}, "#status = :s and #status_2 = :s"),
        ("status between :a and :b", {"#status": "status"}, "#status between :a and :b"),
        ("status IN (:a, :b)", {}, "#status IN (:a, :b)"),
        ("status=:s", {}, "#status=:s"),
    ],
)
def test_reserved_words_get_placeholders(text: str, names: dict[str, str], expected: str) -> None:
    aliased = alias_reserved([text], names)
    assert aliased.expressions == [expected]
    assert {placeholder: aliased.names[placeholder] for placeholder in names} == names
    assert all(aliased.names[placeholder] == word for word, placeholder in aliased.replaced.items())


def test_units_are_paid_before_the_next_request() -> None:
    now = 100.0
    rate = UnitPacer(10, lambda: now)
    assert rate.seconds_to_wait == 0
    rate.take(5)
    rate.take(20)
    assert rate.seconds_to_wait == 2.5
    now += 2
    assert rate.seconds_to_wait == 0.5
    now += 10
    rate.take(1)
    assert round(rate.seconds_to_wait, 6) == 0.1, "time without requests is not saved up"


def test_an_endpoint_that_tells_no_units_cannot_be_limited() -> None:
    client: Any = Replies({"Items": [{}], "ScannedCount": 1})
    reader = ScanReader(client, ScanWish("Table", 1), UnitPacer(10, lambda: 0.0), threading.Event())
    with pytest.raises(ToolkitFailure, match="does not tell what a request consumes, so --rate-limit cannot be kept"):
        list(reader.pages(0, b""))


def test_many_segments_share_some_threads() -> None:
    done, names = list[int](), set[str]()

    def work(number: int) -> None:
        done.append(number)
        names.add(threading.current_thread().name)

    run_together([partial(work, number) for number in range(1000)], threading.Event(), lambda: None)
    assert sorted(done) == list(range(1000))
    assert len(names) <= THREADS_MAX


class OneAtATime:
    """Stands for a writer, whose first batch takes until it is released. Keeps keys that were written at one time."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.overlapping = set[bytes]()
        self.written: list[bytes] = []
        self._active = set[bytes]()
        self._lock = threading.Lock()

    def write(self, requests: Sequence[bytes]) -> WrittenBatch:
        keys = {request.split(b'"n"')[0] for request in requests}
        with self._lock:
            self.overlapping |= self._active & keys
            self._active |= keys
            is_first = not self.written
            self.written += requests
        if is_first:
            self.released.wait()
        with self._lock:
            self._active -= keys
        return WrittenBatch(0.0, [])


def test_a_key_is_not_written_twice_at_a_time() -> None:
    writer: Any = OneAtATime()
    records = [FileRecord(n + 1, b'{"id":{"S":"%d"},"n":{"N":"%d"}}' % (n % 25, n)) for n in range(100)]
    load = TableLoad(
        writer,
        [TableKeyAttribute("id", "S")],
        [LoadFile("a", "jsonl")],
        lambda _: iter(records),
        LoadState(),
    )
    load.run(4, threading.Event(), writer.released.set)
    assert not writer.overlapping
    assert load.state == LoadState(number=100, loaded_items=100, text_bytes=load.state.text_bytes)


def test_a_wait_ends_when_the_command_does() -> None:
    stop = threading.Event()
    rate = UnitPacer(0.001, lambda: 0.0)
    rate.take(1)
    stop.set()
    with pytest.raises(Stopped):
        rate.wait(stop)


class Replies:
    """Stands for a client: answers with prepared replies, and keeps the requests."""

    def __init__(self, *replies: Any) -> None:
        self._replies = list(replies)
        self.bodies: list[Any] = []

    def ask(self, operation: str, members: Any, body: bytes, decode: Any) -> Any:
        self.bodies.append(json.loads(body))
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        return decode(json.dumps(reply).encode())


def page(items: int, units: float, key: str = "") -> dict[str, Any]:
    reply = {"Items": [{}] * items, "ScannedCount": items, "ConsumedCapacity": {"CapacityUnits": units}}
    return reply | ({"LastEvaluatedKey": {"id": {"S": key}}} if key else {})


def test_pages_are_as_long_as_the_rate_allows_in_a_second() -> None:
    now = 0.0

    class Waited(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            nonlocal now
            now += timeout or 0
            return False

    client: Any = Replies(page(5, 1, "a"), page(25, 5, "b"), page(25, 50, "c"), page(1, 1))
    rate = UnitPacer(10, lambda: now)
    reader = ScanReader(client, ScanWish("Table", 2), rate, Waited())
    assert len(list(reader.pages(1, b'{"id":{"S":"0"}}'))) == 4
    assert [body["Limit"] for body in client.bodies] == [5, 25, 25, 2]
    assert [body["ExclusiveStartKey"]["id"]["S"] for body in client.bodies] == ["0", "a", "b", "c"]
    assert {(body["Segment"], body["TotalSegments"]) for body in client.bodies} == {(1, 2)}
    assert round(now, 6) == 5.6, "all units but those of the last page were paid"


class NoPause(threading.Event):
    """Does not wait, and is not set."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        return False


def test_unprocessed_items_are_sent_again() -> None:
    puts = [b'{"PutRequest":{"Item":{"id":{"S":"%d"}}}}' % number for number in range(3)]
    left = {"UnprocessedItems": {"Table": [json.loads(puts[1]), json.loads(puts[2])]}}
    last = {"UnprocessedItems": {"Table": [json.loads(puts[2])]}, "ConsumedCapacity": [{"CapacityUnits": 1}]}
    client: Any = Replies(left, last, {"ConsumedCapacity": [{"CapacityUnits": 2}]})
    written = BatchWriter(client, "Table", None, NoPause()).write(puts)
    assert (written.units, written.refusals) == (3, [])
    assert [len(body["RequestItems"]["Table"]) for body in client.bodies] == [3, 2, 1]
    assert client.bodies[2]["RequestItems"]["Table"] == [json.loads(puts[2])]


def test_a_table_that_takes_nothing_is_given_up() -> None:
    put = b'{"PutRequest":{"Item":{}}}'
    client: Any = Replies({"UnprocessedItems": {"Table": [json.loads(put)]}})
    with pytest.raises(ToolkitFailure, match=f"1 stayed unprocessed after {THROTTLED_TRIES} tries"):
        BatchWriter(client, "Table", None, NoPause()).write([put])


class Failing:
    """Stands for direct requests, none of which succeeds."""

    def send(self, operation: str, body: bytes) -> None:
        assert operation == "scan"


def test_what_does_not_succeed_directly_is_sent_by_boto3(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.make("ByBoto3")
    tables.fill("ByBoto3", simple_items(3))
    with RawClient(find_target(TargetOptions(tables.endpoint), {})) as client:
        direct, body = client._direct, b'{"TableName":"ByBoto3"}'
        whole = client.send("scan", {"TableName": "ByBoto3"}, body)
        assert json.loads(whole)["Count"] == 3
        assert direct.send("scan", body) == whole
        assert direct.send("scan", b'{"TableName":"Missing"}') is None
        monkeypatch.setattr(client, "_direct", Failing())
        assert client.send("scan", {"TableName": "ByBoto3"}, body) == whole
        monkeypatch.undo()


def test_a_reply_that_is_not_whole_is_none() -> None:
    assert is_as_sent(b"{}", str(zlib.crc32(b"{}")))
    assert is_as_sent(b"{}", None)
    assert not is_as_sent(b"{", str(zlib.crc32(b"{}")))
    assert not is_as_sent(b"{}", "\x1b[2J")


def test_throttled_requests_are_sent_again(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = ToolkitFailure("throttled", "ThrottlingException")
    replies: list[Any] = [throttled, throttled, b"{}"]

    def send(*_: Any) -> bytes:
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return bytes(reply)

    client = RawClient(find_target(TargetOptions(tables.endpoint), {}), stop=NoPause())
    monkeypatch.setattr(client, "_send", send)
    monkeypatch.setattr(client, "_direct", Failing())
    assert client.send("scan", {}, b"{}") == b"{}"
    replies[:] = [throttled] * THROTTLED_TRIES
    with pytest.raises(ToolkitFailure):
        client.send("scan", {}, b"{}")
    assert not replies


def test_items_with_line_ends_become_one_line() -> None:
    page = decode_page(b'{"Items": [{\n "id": {"S": "a\\n"}\n}, {"id": {"S": "b"}}]}')
    assert page_text("dynamodb-json", page.items) == b'{"Item":{"id":{"S":"a\\n"}}}\n{"Item":{"id":{"S":"b"}}}\n'


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min"), (3599, "1 h 0 min"), (7500, "2 h 5 min")]
)
def test_time_is_told(seconds: float, told: str) -> None:
    assert time_told(seconds) == told


def test_progress_is_shown_in_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    now = 0.0
    progress = MovedItems(lambda: now)
    progress.show(1000, 2_500_000, 100, 1000, 4000)
    assert not capsys.readouterr().err, "there is no terminal"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "70")
    progress.show(1000, 2_500_000, 100, 1000, 4000)
    now = 10.0
    progress.show(2000, 5_000_000, 200, 2000, 4000)
    shown = capsys.readouterr().err.split("\r")
    assert shown[1].rstrip() == "1,000 items, 2.5 MB, 100 units, 25 %"
    assert shown[3].rstrip() == "2,000 items, 5.0 MB, 200 units, 50 %, 20 s left"
    progress.clear()
    assert not capsys.readouterr().err.strip()


def test_an_interrupted_scan_says_how_to_go_on(tables: Tables) -> None:
    tables.make("Slow")
    tables.fill("Slow", simple_items(50))
    path = tables.path("items.jsonl")
    words = ["scan", "--table", "Slow", "--segments", "1", "--output", path]
    process = tables.start(*words, "--rate-limit", "0.01")
    kept = Path(f"{path}.scan-progress")
    wait_until(lambda: kept.exists() and json.loads(kept.read_bytes())["state"]["written_items"])
    process.send_signal(signal.SIGINT)
    told = process.communicate()[1].decode()
    assert process.returncode == 130
    assert told == "1 item written so far. The same command with --resume goes on.\n"
    assert tables.run(*words) == WRONG_USE
    assert f"a scan into {path} was interrupted. Go on with --resume, or remove {kept} and begin again." in tables.told
    assert tables.run(*words, "--resume", "--filter", "at > :a", "--values", '{":a":{"N":"1"}}') == WRONG_USE
    assert "was begun with no --filter, and now it is --filter at > :a." in tables.told
    assert tables.run(*words[:3], "--segments", "2", *words[5:], "--resume") == WRONG_USE
    assert "--resume goes on with --segments 1." in tables.told
    assert tables.run(*words, "--resume") == DONE
    assert sorted(line["at"] for line in lines_of(tables.read("items.jsonl"))) == list(range(50))
    assert not kept.exists()
    assert tables.run(*words, "--resume") == WRONG_USE
    assert f"there is nothing to go on with: {path} is there without {kept}." in tables.told


def test_a_spoiled_file_of_progress_is_refused(tables: Tables) -> None:
    path = tables.write("items.jsonl", "")
    words = ["scan", "--table", "Slow", "--output", path, "--resume"]
    kept = tables.write("items.jsonl.scan-progress", "{}")
    assert tables.run(*words) == WRONG_USE
    assert f"{kept} is no file of an interrupted command. Remove it, and begin again." in tables.told


def test_a_shorter_output_is_refused(tables: Tables) -> None:
    tables.make("Short")
    tables.fill("Short", simple_items(50))
    path = tables.path("items.jsonl")
    words = ["scan", "--table", "Short", "--segments", "1", "--output", path]
    process = tables.start(*words, "--rate-limit", "0.01")
    kept = Path(f"{path}.scan-progress")
    wait_until(lambda: kept.exists() and json.loads(kept.read_bytes())["state"]["written_items"])
    process.kill()
    process.communicate()
    Path(path).write_bytes(b"")
    assert tables.run(*words, "--resume") == WRONG_USE
    assert f"the file {path} is shorter than it was, so nothing can be added. Begin again." in tables.told
