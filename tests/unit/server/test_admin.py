"""The admin API: accepted clients, refusals with their messages, and the effect of each endpoint."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange import __version__
from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.errors import StorageError
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault, Faults, FaultsError
from hashrange.items import steps
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.server.host_names import is_loopback
from hashrange.server.protocols.admin import faults, tables
from hashrange.server.protocols.admin.endpoint import shown_endpoint
from hashrange.server.protocols.admin.registry import ENDPOINTS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.store.embedded.participant import Options
from hashrange.store.interface import WholeStore, local_maintenance_of
from hashrange.tables.partitions import Partition
from tests.support.in_process import in_process
from tests.support.raw_client import RawClient, Reply
from tests.support.servers import ThreadServer
from tests.support.stores import as_distributed
from tests.unit.server.harness import FrontEnd, Parsed, as_bytes, reply

ADVANCE = "/_hashrange/v1/clock/advance"
EXPIRE = "/_hashrange/v1/ttl/expire"
FAULTS = "/_hashrange/v1/faults"
SPLIT = "/_hashrange/v1/tables/orders/split"
INDEX_DELAY_SECONDS = 3600.0
DAY_SECONDS = 86_400


# --- accepted clients, and refusals -------------------------------------------------------------------


def ask(
    path: str,
    method: str = "GET",
    body: bytes = b"",
    host: str | None = "127.0.0.1",
    headers: dict[str, str] | None = None,
    **settings: Any,
) -> Parsed:
    """The immediate reply to a client at this address."""
    front_end = FrontEnd(settings=Settings(**({"admin": True} | settings)))
    connection, transport = front_end.connect()
    transport.peer = None if host is None else (host, 40_000)
    connection.data_received(
        as_bytes(
            {"Host": "localhost:8000", "Content-Length": str(len(body)), **(headers or {})},
            body,
            f"{method} {path} HTTP/1.1",
        )
    )
    return reply(transport.take())


def error(answer: Parsed) -> str:
    assert answer.headers["content-type"] == "application/json"
    told = json.loads(answer.body)
    assert list(told) == ["error"]
    return str(told["error"])


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_without_the_setting_it_does_not_exist(method: str) -> None:
    headers = {"Origin": "http://localhost:8000"} if method == "OPTIONS" else {}
    theirs = ask("/somewhere", method, headers=headers, admin=False)
    ours = ask("/_hashrange/v1/ready", method, headers=headers, admin=False)
    assert (ours.status, ours.body) == (theirs.status, theirs.body)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True), ("127.8.9.10", True), ("::1", True), ("::ffff:127.0.0.1", True),
        ("10.0.0.7", False), ("::ffff:10.0.0.7", False), ("fe80::1", False), ("::2", False), ("", False), (None, False),
    ],
)  # fmt: skip
def test_only_the_same_machine_is_let_in(host: str | None, is_local: bool) -> None:
    assert is_loopback(host) == is_local
    answer = ask("/_hashrange/v1/nothing", host=host)
    assert answer.status == (404 if is_local else 403)
    assert ("--admin-from everyone" in error(answer)) != is_local


def test_everyone_is_let_in_if_the_operator_says_so() -> None:
    assert ask("/_hashrange/v1/nothing", host="10.0.0.7", admin_from="everyone").status == 404


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "GET"])
@pytest.mark.parametrize("admin_from", ["loopback", "everyone"])
def test_web_pages_are_not(method: str, admin_from: str) -> None:
    """Requests from web pages are refused, and a preflight request is not granted."""
    headers = {"Origin": "http://shop.example", "Access-Control-Request-Method": "POST"}
    answer = ask(ADVANCE, method, b'{"seconds": 1}', headers=headers, admin_from=admin_from)
    assert answer.status == 403
    assert "http://shop.example" in error(answer)
    assert "--allowed-origins" in error(answer)
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("admin_from", ["loopback", "everyone"])
def test_of_a_server_that_listens_everywhere_the_host_must_be_the_machine(admin_from: str) -> None:
    answer = ask("/_hashrange/v1/nothing", headers={"Host": "evil.example"}, host="127.0.0.1", admin_from=admin_from)
    assert answer.status == (403 if admin_from == "loopback" else 404)
    assert ("--allowed-hosts" in error(answer)) == (admin_from == "loopback")


@pytest.mark.parametrize(
    "path",
    [
        "/_hashrange/v1/",
        "/_hashrange/v1/nothing",
        "/_hashrange/v2/ready",
        "/_hashrange/ready",
        "/_hashrange/v1/ready/",
        "/_hashrange/v1/clock",
        "/_hashrange/v1/tables//split",
        "/_hashrange/v1/tables/a/b/split",
        "/_hashrange/v1/READY",
    ],
)
def test_an_unknown_path_is_told_what_there_is(path: str) -> None:
    answer = ask(path, "POST")
    assert answer.status == 404
    sentence = error(answer)
    assert path in sentence
    assert all(shown_endpoint(one) in sentence for one in ENDPOINTS)


@pytest.mark.parametrize(
    ("path", "method", "allowed"), [(ADVANCE, "GET", "POST"), ("/_hashrange/v1/info?x=1", "PUT", "GET")]
)
def test_a_wrong_method_is_told_the_right_one(path: str, method: str, allowed: str) -> None:
    answer = ask(path, method)
    assert (answer.status, answer.headers["allow"]) == (405, allowed)
    assert error(answer) == f"{path.partition('?')[0]} takes {allowed}, not {method}."


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (ADVANCE, b""),
        (ADVANCE, b"{"),
        (ADVANCE, b"[]"),
        (ADVANCE, b"5"),
        (ADVANCE, b'{"second": 5}'),
        (ADVANCE, b"\xff"),
        (ADVANCE, b'{"seconds": "5"}'),
        (ADVANCE, b'{"seconds": true}'),
        (ADVANCE, b'{"seconds": null}'),
        (ADVANCE, b'{"seconds": -1}'),
        (ADVANCE, b'{"seconds": -0.001}'),
        (ADVANCE, b'{"seconds": NaN}'),
        (ADVANCE, b'{"seconds": Infinity}'),
        (ADVANCE, b'{"seconds": 5, "hours": 1}'),
        (ADVANCE, b"[" * 4000),
        (FAULTS, b'{"faults": [{"kind": "error", "table": "t", "key": ' + b'{"M": ' * 2000 + b"{}" + b"}" * 2003),
        (
            FAULTS,
            b'{"faults": [{"kind": "error", "table": "t", "key": ' + b'{"M": ' * 2000 + b"{}" + b"}" * 2002 + b"]}",
        ),
        (FAULTS, b'{"faults": null}'),
        (FAULTS, b'{"faults": {}}'),
        (FAULTS, b'{"faults": [1]}'),
        (FAULTS, b'{"faults": [{}' + b",{}" * 1000 + b"]}"),
        (FAULTS, b'{"faults": [{}' + b",{}" * 100_000 + b"]}"),
        (FAULTS, b'{"faults": ["\xff"]}'),
        (FAULTS, b'{"seed": 1}'),
        (EXPIRE, b'{"table": 5}'),
        (EXPIRE, b'{"now": true}'),
        (SPLIT, b'{"partition": "1"}'),
        (SPLIT, b'{"partition": 1.5}'),
    ],
)
def test_a_body_that_is_not_understood_is_told_why_and_given_an_example(path: str, body: bytes) -> None:
    answer = ask(path, "POST", body)
    assert answer.status == 400
    sentence = error(answer)
    assert sentence.startswith("The body cannot be read: ")
    assert sentence.endswith(
        f"Send JSON such as {next(e.wire.example for e in ENDPOINTS if e.name.split('/')[-1].split(' ')[-1] in path)}."
    )


def test_a_large_body_is_not_looked_at() -> None:
    answer = ask(ADVANCE, "POST", b'{"seconds": 1' + b" " * 4096 + b"}")
    assert answer.status == 413
    assert error(answer) == 'The body is longer than 4096 bytes. Send JSON such as {"seconds": 3600}.'


def test_a_long_list_of_faults_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 MB of names of operations held up all other clients for 0.1 s."""
    names = json.dumps([f"Operation{number}" for number in range(40_000)])
    body = f'{{"faults": [{{"kind": "throttle", "operation": {names}}}]}}'.encode()
    front_end = FrontEnd(settings=Settings(admin=True))
    connection, transport = front_end.connect()
    transport.peer = ("127.0.0.1", 40_000)
    looks: list[None] = []
    before: list[int] = []

    def refuse(*_given: object) -> None:
        before.append(len(looks))
        raise FaultsError("too many")

    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    monkeypatch.setattr(faults, "checked", refuse)
    head = {"Host": "localhost:8000", "Content-Length": str(len(body))}
    connection.data_received(as_bytes(head, body, f"POST {FAULTS} HTTP/1.1"))
    assert reply(transport.take()).status == 400
    assert before[0] >= len(body) // steps.PIECE_BYTES


def test_a_request_with_a_target_of_dynamodb_is_dynamodbs() -> None:
    front_end = FrontEnd(settings=Settings(admin=True))
    request = front_end.request().replace(b"POST / ", b"POST /_hashrange/v1/ready ", 1)
    assert json.loads(reply(front_end.ask(request)).body)["name"] == "music"


def test_every_endpoint_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "admin.md").read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## `")]
    assert headings == [f"## `{shown_endpoint(one)}`" for one in ENDPOINTS]


# --- effects of endpoints ----------------------------------------------------------------------------


class Operated:
    """A started server, used by its operator and by clients."""

    def __init__(self, *, is_suspending: bool = False, clock: Clock | None = None, **settings: Any) -> None:
        self.clock = clock or MovableClock(SystemClock())
        self.settings = Settings(port=0, data_dir=None, admin=True, **settings)
        self.is_suspending = is_suspending
        self.server = ThreadServer(self._make_store, ALL_OPERATIONS, self.clock, self.settings)
        self.client = RawClient("127.0.0.1", self.server.port)

    def _make_store(self) -> WholeStore:
        store = open_store(
            None,
            self.clock,
            asyncio.get_running_loop(),
            Options(lambda: INDEX_DELAY_SECONDS, ttl_delay_seconds=self.settings.ttl_delay_seconds),
        )
        return as_distributed(store, 1) if self.is_suspending else store

    def get(self, path: str) -> Any:
        return self._told(self.client.send("GET", f"/_hashrange/v1/{path}", {}, b""))

    def post(self, path: str, **members: Any) -> Any:
        return self._told(self.send(path, **members))

    def send(self, path: str, **members: Any) -> Reply:
        body = json.dumps(members).encode() if members else b""
        return self.client.send("POST", f"/_hashrange/v1/{path}", {"Content-Type": "application/json"}, body)

    def refusal(self, path: str, **members: Any) -> tuple[int, str]:
        """Status and message of a refused request."""
        answer = self.send(path, **members)
        told = answer.json()
        assert list(told) == ["error"]
        return answer.status, told["error"]

    def _told(self, answer: Reply) -> Any:
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), answer
        return answer.json()

    def ask(self, operation: str, client: RawClient | None = None, **members: Any) -> Any:
        """The reply to an operation on the table `orders`."""
        answer = (client or self.client)(operation, {"TableName": "orders"} | members)
        assert answer.status == 200, answer
        return answer.json()

    def create(self, client: RawClient | None = None, **members: Any) -> None:
        names = ("id", "status") if members else ("id",)
        self.ask(
            "CreateTable",
            client,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            **members,
        )

    def put(self, *names: str, **attributes: Any) -> None:
        for name in names:
            self.ask("PutItem", Item={"id": {"S": name}, **attributes})

    def expire_after(self) -> None:
        """Turn time to live on, and wait until it is in effect."""
        self.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
        self.post("clock/advance", seconds=0)

    def left(self, **members: Any) -> set[str]:
        return {item["id"]["S"] for item in self.ask("Scan", **members)["Items"]}


def in_seconds(seconds: float) -> dict[str, str]:
    return {"N": str(int(time.time() + seconds))}


@pytest.fixture
def operate() -> Iterator[Callable[..., Operated]]:
    """operate(**settings): starts a server, which is stopped at the end."""
    started: list[Operated] = []

    def start(**settings: Any) -> Operated:
        started.append(Operated(**settings))
        return started[-1]

    yield start
    for one in started:
        one.server.stop()


def test_ready(operate: Callable[..., Operated]) -> None:
    assert operate().get("ready") == {"ready": True}


def test_who_asks_within_the_process_is_let_in() -> None:
    with in_process(Settings(data_dir=None, admin=True), MovableClock(SystemClock())) as database:
        for path, body in (("clock/advance", b'{"seconds": 1}'), ("info", b"")):
            answer = database.ask("POST" if body else "GET", f"/_hashrange/v1/{path}", {}, body)
            assert answer.status == 200
        assert json.loads(answer.body)["connections"] == 0


def test_info(operate: Callable[..., Operated]) -> None:
    operated = operate(ttl_delay_seconds=60.0)
    operated.create()
    operated.create(RawClient("127.0.0.1", operated.server.port, "eu-west-1"))
    operated.put("a")
    before = time.time()
    start = operated.get("info")["service_time"]
    moved = operated.post("clock/advance", seconds=DAY_SECONDS)["service_time"]
    info = operated.get("info")
    assert (info["version"], info["data_dir"], info["tables"], info["connections"]) == (__version__, None, 2, 1)
    assert info["committed_position"] == info["durable_position"] == operated.server.store.position() > 0
    assert before <= info["wall_time"] <= time.time()
    assert start + DAY_SECONDS <= moved <= info["service_time"]
    assert info["uptime_seconds"] >= 0
    settings = info["settings"]
    assert (settings["ttl_delay"], settings["admin"], settings["admin_from"]) == (60.0, True, "loopback")
    assert (settings["credentials"], settings["tls_cert"], settings["tls_key"]) == (False, False, False)


@pytest.mark.parametrize("is_suspending", [False, True])
def test_what_becomes_due_is_done_when_the_clock_has_been_advanced(
    operate: Callable[..., Operated], is_suspending: bool
) -> None:
    operated = operate(is_suspending=is_suspending)
    index = {"IndexName": "by-status", "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}]}
    operated.create(GlobalSecondaryIndexes=[{**index, "Projection": {"ProjectionType": "ALL"}}])
    operated.expire_after()
    operated.put("soon", status={"S": "open"}, expires=in_seconds(DAY_SECONDS / 2))
    operated.put("late", status={"S": "open"}, expires=in_seconds(2 * DAY_SECONDS))
    assert operated.left(IndexName="by-status") == set()
    start = operated.get("info")["service_time"]
    first = operated.post("clock/advance", seconds=INDEX_DELAY_SECONDS)["service_time"]
    assert first >= start + INDEX_DELAY_SECONDS
    assert operated.left(IndexName="by-status") == operated.left(ConsistentRead=True) == {"soon", "late"}
    second = operated.post("clock/advance", seconds=DAY_SECONDS)["service_time"]
    assert second >= first + DAY_SECONDS
    assert operated.left(ConsistentRead=True) == {"late"}


def test_requests_are_signed_by_the_machines_time(operate: Callable[..., Operated]) -> None:
    operated = operate()
    moved = operated.post("clock/advance", seconds=30 * DAY_SECONDS)["service_time"]
    operated.create()
    assert operated.ask("DescribeTable")["Table"]["CreationDateTime"] >= moved


@pytest.mark.parametrize("seconds", [1e10, 1e300])
def test_the_clock_is_not_advanced_beyond_a_century(operate: Callable[..., Operated], seconds: float) -> None:
    operated = operate()
    far = 99 * 365.25 * DAY_SECONDS
    operated.post("clock/advance", seconds=far)
    expected = (400, "Service time can be at most 100 years ahead of the machine's clock. Advance by fewer seconds.")
    assert operated.refusal("clock/advance", seconds=seconds) == expected
    assert operated.refusal("clock/advance", seconds=far) == expected
    operated.create()
    operated.put("a")
    assert operated.left(ConsistentRead=True) == {"a"}


def test_a_job_that_fails_is_told(operate: Callable[..., Operated]) -> None:
    operated = operate()
    operated.create()
    operated.expire_after()
    operated.put("a", expires=in_seconds(3600))

    async def fail(*_: object) -> float | None:
        raise StorageError("The disk is full. Make room.")

    local_maintenance_of(operated.server.store).expire = fail  # type: ignore[method-assign,assignment]
    assert operated.refusal("clock/advance", seconds=DAY_SECONDS) == (500, "The disk is full. Make room.")


def test_an_error_of_ours_is_logged(operate: Callable[..., Operated], caplog: pytest.LogCaptureFixture) -> None:
    operated = operate(clock=SystemClock())
    with caplog.at_level(logging.ERROR, "hashrange.server"):
        status, sentence = operated.refusal("clock/advance", seconds=1)
    (record,) = caplog.records
    assert status == 500
    assert sentence.rstrip(".").split()[-1] in record.getMessage()


@pytest.mark.parametrize("is_suspending", [False, True])
def test_what_has_expired_goes_and_is_counted(operate: Callable[..., Operated], is_suspending: bool) -> None:
    operated = operate(is_suspending=is_suspending, ttl_delay_seconds=7.0 * DAY_SECONDS)
    operated.create()
    operated.expire_after()
    operated.put("a", "b", "c", expires=in_seconds(-5))
    operated.put("d", "e", expires=in_seconds(DAY_SECONDS))
    operated.put("f")
    assert operated.post("ttl/expire") == {"expired": 3}
    assert operated.post("ttl/expire") == {"expired": 0}
    assert operated.left(ConsistentRead=True) == {"d", "e", "f"}
    operated.post("clock/advance", seconds=2 * DAY_SECONDS)
    assert operated.post("ttl/expire", table="orders", account="000000000000", region="us-east-1") == {"expired": 2}


def test_which_table_expires(operate: Callable[..., Operated]) -> None:
    operated = operate(ttl_delay_seconds=7.0 * DAY_SECONDS)
    operated.create()
    operated.expire_after()
    operated.put("a", expires=in_seconds(-5))
    assert operated.refusal("ttl/expire", table="other") == (
        404, "There is no table other. ListTables tells which tables there are."
    )  # fmt: skip
    assert operated.refusal("ttl/expire", table="orders", account="1", region="x") == (
        404, "There is no table orders of account 1 in Region x. ListTables tells which tables there are."
    )  # fmt: skip
    assert operated.refusal("ttl/expire", region="us-east-1") == (
        400, "The members account and region say which table is meant. Send the member table with them."
    )  # fmt: skip
    operated.create(RawClient("127.0.0.1", operated.server.port, "eu-west-1"))
    assert operated.refusal("ttl/expire", table="orders") == (
        409,
        (
            "There are several tables orders, in account 000000000000 and Region eu-west-1, account 000000000000 and"
            " Region us-east-1. Say which one is meant with the members account and region."
        ),
    )
    for region in ("eu-west-2", "eu-west-3", "us-east-2", "us-west-1"):
        operated.create(RawClient("127.0.0.1", operated.server.port, region))
    _, sentence = operated.refusal("ttl/expire", table="orders")
    assert "account 000000000000 and Region us-east-2 and 1 more. Say which" in sentence
    assert operated.post("ttl/expire", table="orders", region="eu-west-1") == {"expired": 0}
    assert operated.post("ttl/expire", table="orders", region="us-east-1") == {"expired": 1}


@pytest.mark.parametrize("is_suspending", [False, True])
def test_the_largest_partition_splits(operate: Callable[..., Operated], is_suspending: bool) -> None:
    operated = operate(is_suspending=is_suspending)
    operated.create()
    operated.put(*[f"item-{number}" for number in range(40)])
    assert operated.post("tables/orders/split") == {
        "partitions": [
            {"number": 2, "first_hash": "0000000000000000", "last_hash": "7fffffffffffffff"},
            {"number": 3, "first_hash": "8000000000000000", "last_hash": "ffffffffffffffff"},
        ]
    }
    told = operated.post("tables/orders/split", partition=3, region="us-east-1")
    assert [one["number"] for one in told["partitions"]] == [2, 4, 5]
    told = operated.post("tables/orders/split")
    assert [one["number"] for one in told["partitions"]] == [6, 7, 4, 5]
    assert len(operated.left(ConsistentRead=True)) == 40


def test_a_partition_that_holds_several_keys_is_chosen_before_a_wider_one(operate: Callable[..., Operated]) -> None:
    """The two keys' partition is chosen until they are separated: each split but the last keeps them together."""
    operated = operate()
    operated.create()
    operated.put("a", "b")
    count = 1
    while (answer := operated.send("tables/orders/split")).status == 200:
        assert len(answer.json()["partitions"]) == (count := count + 1)
    assert answer.status == 409


def test_what_cannot_be_split_is_told_why(operate: Callable[..., Operated]) -> None:
    operated = operate()
    assert operated.refusal("tables/orders/split")[0] == 404
    operated.create()
    why = "cannot be split: only a partition whose items have different partition keys can be. Put such items first."
    for _ in range(2):
        assert operated.refusal("tables/orders/split") == (409, f"Table orders {why}")
        assert operated.refusal("tables/orders/split", partition=1) == (409, f"Partition 1 of table orders {why}")
        operated.put("a")
    assert operated.refusal("tables/orders/split", partition=2) == (
        404, "Table orders has no partition 2. It has the partitions 1."
    )  # fmt: skip


def test_a_partition_that_somebody_else_has_split_is_not_split_again(operate: Callable[..., Operated]) -> None:
    operated = operate()
    operated.create()
    operated.put("a", "b", "c", "d")

    async def find_it_gone(partition: Partition) -> bool:
        return False

    local_maintenance_of(operated.server.store).split_partition = find_it_gone  # type: ignore[method-assign]
    assert operated.refusal("tables/orders/split") == (
        409, "Partition 1 of table orders was split meanwhile. Ask again."
    )  # fmt: skip


def test_a_table_has_so_many_partitions_at_most(
    operate: Callable[..., Operated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PARTITIONS_MAX", 2)
    operated = operate()
    operated.create()
    operated.put(*[f"item-{number}" for number in range(40)])
    operated.post("tables/orders/split")
    assert operated.refusal("tables/orders/split") == (
        409, "Table orders has 2 partitions already, which is the most that a table can have."
    )  # fmt: skip


@pytest.mark.parametrize("path", ["clock/advance", "ttl/expire", "tables/orders/split"])
def test_whatever_changes_something_waits_until_it_is_durable(operate: Callable[..., Operated], path: str) -> None:
    operated = operate()
    operated.create()
    operated.put("a", "b", "c", "d")
    store, waited = operated.server.store, list[int]()

    def when_durable(position: int, callback: Callable[[StorageError | None], None]) -> None:
        waited.append(position)
        callback(StorageError("The disk is gone."))

    operated.server.service._durable_position = lambda: 0
    store.when_durable = when_durable  # type: ignore[method-assign]
    members = {"seconds": 1} if path == "clock/advance" else {}
    assert operated.refusal(path, **members) == (500, "The disk is gone.")
    assert waited == [store.position()]


@pytest.mark.parametrize(
    ("failure", "answer"),
    [(None, (200, {"expired": 0})), (StorageError("The disk is gone."), (500, {"error": "The disk is gone."}))],
)
def test_a_reply_waits_until_what_it_tells_is_durable(
    failure: StorageError | None, answer: tuple[int, dict[str, object]]
) -> None:
    front = FrontEnd(settings=Settings(admin=True))
    connection, transport = front.connect()
    transport.peer = ("127.0.0.1", 40_000)
    headers = {"Host": "localhost:8000", "Content-Length": "0"}
    front.store.committed += 1
    connection.data_received(as_bytes(headers, b"", f"POST {EXPIRE} HTTP/1.1"))
    assert transport.take() == b""
    front.store.sync(failure)
    found = reply(transport.take())
    assert (found.status, json.loads(found.body)) == answer


def test_what_tells_of_no_commit_does_not_wait() -> None:
    front = FrontEnd(settings=Settings(admin=True))
    connection, transport = front.connect()
    transport.peer = ("127.0.0.1", 40_000)
    front.store.committed += 1
    connection.data_received(as_bytes({"Host": "localhost:8000"}, b"", "GET /_hashrange/v1/ready HTTP/1.1"))
    assert reply(transport.take()).status == 200
    assert front.store.waiting == []


def test_it_meets_no_faults() -> None:
    front = FrontEnd(settings=Settings(admin=True))
    front.service.requests.drawing = Drawing(Faults((Fault("error"), Fault("drop", when="after"))), front.clock)
    connection, transport = front.connect()
    transport.peer = ("127.0.0.1", 40_000)
    connection.data_received(as_bytes({"Host": "localhost:8000"}, b"", "GET /_hashrange/v1/ready HTTP/1.1"))
    assert json.loads(reply(transport.take()).body) == {"ready": True}
    assert front.service.requests.drawing.met == 0
