"""How faults are given: in code, as a TOML file, over the admin API; and what is said of those that cannot be met."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hashrange.faults.fault import FAULTS_MAX, MEMBERS, TIMED, Fault, Faults, FaultsError, checked, read_faults
from hashrange.settings import Settings
from hashrange.testing.database import Database, server
from tests.unit.faults.kit import impatient, met, outcome, put_songs, song
from tests.unit.faults.sockets import admin, connected, one_reply, request

SOURCE = Path(__file__).parents[3] / "src"
HAS = "; it has "
KIND_MISSING = (
    'fault 1: it lacks the member kind: it must be "conflict", "drop", "error", "half-reply", "index-lag",'
    ' "late-records", "long-operations", "no-room", "repeated-records", "slow", "small-batches", "stale-read",'
    ' "table-states", "throttle" or "unprocessed".'
)
KEY_NEEDS = 'fault 1: the member key needs one or two attributes, such as {"id": {"S": "order-1"}}.'
NO_VALUE = (
    'fault 1: the value of pk in the member key must be of type S, N or B, such as {"S": "order-1"} or {"N": "5"}.'
)
IS_A_NAME = "; the member table is a name of letters, digits, _, - and periods."
NO_OPERATION = "fault 1: the member operation names none; leave it out for all operations."
NO_TABLE = "fault 1: the member table is empty; leave it out for all tables."
EVERY_KIND = [
    {"kind": kind, **({"seconds": 5} if kind in TIMED else {}), "share": 0.5, "count": 2, "skip": 1} for kind in MEMBERS
]
EXAMPLE = """
seed = 7

[[fault]]
kind = "throttle"
operation = ["PutItem", "UpdateItem"]
table = "music"
share = 0.25
reason = "MaxOnDemandThroughputExceeded"

[[fault]]
kind = "error"
when = "after"
table = "music"
key = { pk = { S = "a" } }
count = 1
"""
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": "throtle"}, 'fault 1: kind is "throtle", which is none of its values. Did you mean throttle?'),
    ({"table": "music"}, KIND_MISSING),
    ({"kind": "error", "tabel": "music"}, "fault 1: it has no member tabel. Did you mean table?"),
    ({"kind": "error", "share": 1.5}, "fault 1: share is 1.5; it must be a number from 0 to 1."),
    ({"kind": "error", "share": -0.1}, "fault 1: share is -0.1; it must be a number from 0 to 1."),
    ({"kind": "error", "count": 0}, "fault 1: count is 0; it must be a whole number of at least 1."),
    ({"kind": "error", "skip": -1}, "fault 1: skip is -1; it must be a whole number of at least 0."),
    ({"kind": "error", "when": "during"}, 'fault 1: when is "during"; it must be "after" or "before".'),
    ({"kind": "error", "table": 5}, "fault 1: table is 5; it must be text."),
    ({"kind": "error", "operation": 5}, "fault 1: operation is 5; it must be text or a list."),
    ({"kind": "error", "operation": ["PutItem", 5]}, "fault 1: operation 2 is 5; it must be text."),
    ({"kind": "slow", "seconds": -1}, "fault 1: seconds is -1; it must be a number from 0 to 86,400."),
    ({"kind": "slow", "seconds": 86_401}, "fault 1: seconds is 86401; it must be a number from 0 to 86,400."),
    ({"kind": "slow", "seconds": "1"}, 'fault 1: seconds is "1"; it must be a number from 0 to 86,400.'),
    (
        {"kind": "throttle", "reason": "Busy"},
        (
            'fault 1: reason is "Busy"; it must be "AccountLimitExceeded", "KeyRangeThroughputExceeded",'
            ' "MaxOnDemandThroughputExceeded" or "ProvisionedThroughputExceeded".'
        ),
    ),
    (
        {"kind": "throttle", "exception": "Busy"},
        (
            'fault 1: exception is "Busy"; it must be "ProvisionedThroughputExceededException", "RequestLimitExceeded"'
            ' or "ThrottlingException".'
        ),
    ),
    (
        {"kind": "error", "table": "music", "key": {"pk": "a"}},
        'fault 1: pk of key is "a"; it must be a table.',
    ),
    ({"kind": "error", "table": "music", "key": {}}, KEY_NEEDS),
    ({"kind": "error", "table": "music", "key": {"pk": {"S": 5}}}, NO_VALUE),
    ({"kind": "error", "table": "music", "key": {"pk": {"X": "a"}}}, NO_VALUE),
    ({"kind": "error", "table": "music", "key": {"pk": {"N": "one"}}}, NO_VALUE),
    ({"kind": "error", "table": "music", "key": {"pk": {"B": "?"}}}, NO_VALUE),
    ({"kind": "error", "table": "music", "key": {"pk": {"S": "a", "N": "1"}}}, NO_VALUE),
    ({"kind": "error", "table": "music", "key": {"pk": {"SS": ["a"]}}}, NO_VALUE),
    ({"kind": "error", "table": "music", "key": {name: {"S": "a"} for name in "abc"}}, KEY_NEEDS),
    ({"kind": "error", "table": "music", "key": {"a": {"S": "a"}, "pk": {"N": 5}}}, NO_VALUE),
    ({"kind": "error", "operation": []}, NO_OPERATION),
    ({"kind": "error", "operation": ""}, NO_OPERATION),
    ({"kind": "error", "operation": ["PutItem", ""]}, NO_OPERATION),
    ({"kind": "error", "table": ""}, NO_TABLE),
    ({"kind": "table-states", "seconds": 5, "table": ""}, NO_TABLE),
    (
        {"kind": "error", "table": "arn:aws:dynamodb:us-east-1:000000000000:table/music"},
        'fault 1: no table has the name "arn:aws:dynamodb:us-east-1:000000000000:table/music"' + IS_A_NAME,
    ),
    (
        {"kind": "throttle", "table": "chat", "index": ""},
        'fault 1: no index has the name ""; the member index is a name of letters, digits, _, - and periods.',
    ),
    ({"kind": "error", "count": 2**63}, f"fault 1: the member count must be from 1 to {2**63 - 1}."),
    ({"kind": "error", "skip": 2**70}, f"fault 1: the member skip must be from 0 to {2**63 - 1}."),
    ({"kind": "small-batches", "records": 0}, "fault 1: records is 0; it must be a whole number from 1 to 10,000."),
    (
        {"kind": "small-batches", "records": 10_001},
        "fault 1: records is 10001; it must be a whole number from 1 to 10,000.",
    ),
    ({"kind": "error", "key": {"pk": {"S": "a"}}}, "fault 1: the member key needs the member table."),
    (
        {"kind": "throttle", "index": "by_author"},
        "fault 1: the member index needs the member table, and excludes the member key.",
    ),
    (
        {"kind": "throttle", "index": "by_author", "table": "chat", "key": {"pk": {"S": "a"}}},
        "fault 1: the member index needs the member table, and excludes the member key.",
    ),
    (
        {"kind": "error", "seconds": 5},
        (
            'fault 1: the kind "error" has no member seconds; it has code, key, operation, table, when, share, count'
            " and skip."
        ),
    ),
]


# --- in code --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "message"), WRONG)
def test_a_wrong_fault_is_refused_with_its_number_and_reason(fault: dict[str, Any], message: str) -> None:
    for number, faults in enumerate(([fault], [{"kind": "error"}, fault]), 1):
        with pytest.raises(FaultsError) as caught:
            checked(faults, 0)
        assert str(caught.value) == message.replace("fault 1", f"fault {number}")


@pytest.mark.parametrize("kind", list(MEMBERS))
def test_each_kind_refuses_the_members_of_others_and_lacking_seconds(kind: Any) -> None:
    values: dict[str, Any] = {
        "operation": "PutItem",
        "table": "music",
        "index": "by_author",
        "key": {"pk": {"S": "a"}},
        "when": "after",
        "seconds": 5.0,
        "exception": "ThrottlingException",
        "reason": "AccountLimitExceeded",
        "retry_after_ms": 5,
        "records": 5,
    }
    needed = {"seconds": 5.0} if kind in TIMED else {}
    for member, value in values.items():
        where = {"table": "music"} if member in {"key", "index"} and "table" in MEMBERS[kind] else {}
        fault = {"kind": kind, **needed, **where, member: value}
        if member in MEMBERS[kind]:
            assert len(checked([fault], 0).faults) == 1
        else:
            with pytest.raises(FaultsError, match=f'the kind "{kind}" has no member {member}'):
                checked([fault], 0)
    if kind in TIMED:
        with pytest.raises(FaultsError, match=f'the kind "{kind}" needs the member seconds'):
            checked([{"kind": kind}], 0)


@pytest.mark.parametrize(("value", "shown"), [(-1, "-1"), (86_400_001, "86400001"), (1.5, "1.5"), ("5", '"5"')])
def test_the_time_after_which_to_retry_is_in_whole_milliseconds(value: Any, shown: str) -> None:
    words = f"retry_after_ms is {shown}; it must be a whole number from 0 to 86,400,000."
    with pytest.raises(FaultsError, match=re.escape(words)):
        checked([{"kind": "throttle", "retry_after_ms": value}], 0)


def test_wrong_faults_of_code_are_refused_and_the_former_ones_stay(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle"))
    wrong: list[Any] = [
        Fault("throtle"),  # type: ignore[arg-type]
        Fault("error", share=2),
        Fault("slow", seconds=float("nan")),
        Fault("error", share=float("nan")),
        Fault("error", table="music", key={"pk": {"S": 5}}),
        Fault("error", operation="PutItems"),
        Fault("error", operation=("PutItem", "Nothing")),
        Fault("error", operation="DynamoDB_20120810.PutItem"),
    ]
    for fault in wrong:
        with pytest.raises(FaultsError, match="fault 2: "):
            database.faults.use(Fault("error"), fault)
    others: list[Any] = [5, None, object(), "error", {"kind": "error"}, [Fault("error")]]
    for other in others:
        with pytest.raises(TypeError, match="one by one"):
            database.faults.use(Fault("error"), other)
        with pytest.raises(TypeError, match="one by one"), database.faults.during(other):
            pass
    with pytest.raises(FaultsError, match="faults has 1,001 values; it must be a list of at most 1,000 values"):
        database.faults.use(*[Fault("error")] * (FAULTS_MAX + 1))
    with pytest.raises(FaultsError, match='seed is "x"; it must be a whole number'):
        database.faults.use(seed="x")  # type: ignore[arg-type]
    assert outcome(put_songs, client, "a") == "ThrottlingException"
    assert met(database) == [(1, "PutItem")]


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "a"}
    for _ in range(levels):
        value = {"M": {"a": value}}
    return value


@pytest.mark.parametrize("levels", [200, 3000, 100_000])
def test_members_that_are_nested_deeply_are_refused(database: Database, levels: int) -> None:
    with pytest.raises(FaultsError) as caught:
        database.faults.use(Fault("error"), Fault("error", table="music", key={"pk": nested(levels)}))
    assert str(caught.value).startswith("fault 2: ")
    deep: Any = []
    for _ in range(levels):
        deep = [deep]
    with pytest.raises(FaultsError, match="fault 1: "):
        database.faults.use(Fault("error", operation=deep))


def test_a_seed_is_a_number_of_64_bits(database: Database) -> None:
    for seed in (2**63 - 1, -(2**63), 0):
        database.faults.use(Fault("error", operation="ListTables", share=0.5), seed=seed)
        outcome(impatient(database).list_tables)
    for seed in (2**63, -(2**63) - 1, 2**100_000):
        with pytest.raises(FaultsError) as caught:
            database.faults.use(seed=seed)
        assert str(caught.value) == f"the seed must be from {-(2**63)} to {2**63 - 1}."
    with pytest.raises(FaultsError, match="fault 1: the member count must be from 1 to"):
        database.faults.use(Fault("error", count=2**100_000))


def test_long_names_are_not_echoed_whole(database: Database) -> None:
    for fault in (Fault("error", operation="x" * 10_000), Fault("error", table="!" * 10_000)):
        with pytest.raises(FaultsError) as caught:
            database.faults.use(fault)
        assert len(str(caught.value)) < 400


# --- as a file ------------------------------------------------------------------------------------------


def test_a_file_holds_a_seed_and_faults_in_order(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(EXAMPLE)
    expected = Faults(
        (
            Fault(
                "throttle",
                operation=("PutItem", "UpdateItem"),
                table="music",
                share=0.25,
                reason="MaxOnDemandThroughputExceeded",
            ),
            Fault("error", when="after", table="music", key={"pk": {"S": "a"}}, count=1),
        ),
        7,
    )
    assert read_faults(str(path)) == expected
    path.write_text("")
    assert read_faults(str(path)) == Faults()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[[fault]\n", "it is no TOML at line 1, column 8: "),
        (b"seed = \xff", "it is not UTF-8."),
        (b'seed = "x"', 'seed is "x"; it must be a whole number.'),
        (b"[[faults]]\n", "it has no member faults. Did you mean fault?"),
        (b'[fault]\nkind = "error"', "fault is a table; it must be a list of at most 1,000 values."),
        (b'[[fault]]\nkind = "throtle"', 'fault 1: kind is "throtle"'),
        (b'[[fault]]\nkind = "error"\n[[fault]]\nkind = "slow"', 'fault 2: the kind "slow" needs the member seconds.'),
        (b'[[fault]]\nkind = "slow"\nseconds = nan', "fault 1: seconds is nan; it must be a number from 0 to 86,400."),
        (b'[[fault]]\nkind = "slow"\nseconds = inf', "fault 1: seconds is inf; it must be a number from 0 to 86,400."),
        (b'[[fault]]\nkind = "error"\n' * (FAULTS_MAX + 1), "fault has 1,001 values"),
        (b"x = " + b"[" * 3000 + b"]" * 3000, "it is nested too deeply."),
        (b'[[fault]]\nkind = "error"\ntable = "music"\nkey = ' + b"{a = " * 3000 + b"1" + b"}" * 3000, "too deeply."),
        (b'[[fault]]\nkind = "error"\ntable = "music"\nkey.' + b"a." * 3000 + b"a = 1", "too deeply."),
        (b"seed = " + b"9" * 5000, "a number in it has too many digits."),
        (b"seed = 9223372036854775808", "the seed must be from -9223372036854775808 to 9223372036854775807."),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "faults.toml"
    path.write_bytes(text)
    with pytest.raises(FaultsError) as caught:
        read_faults(str(path))
    assert str(caught.value).startswith(f"the file of faults {path} cannot be used: ")
    assert reason in str(caught.value)


def test_a_missing_file_or_a_folder_is_refused(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.toml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(FaultsError) as caught:
            read_faults(str(path))
        assert str(caught.value) == f"the file of faults {path} cannot be read: {reason}."
    with pytest.raises(FaultsError, match="cannot be read: embedded null byte"):
        read_faults("a\0b")


def test_a_database_begins_with_the_faults_of_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text('[[fault]]\nkind = "error"\noperation = "ListTables"\n')
    with server(Settings(data_dir=None, faults=str(path))) as database:
        assert outcome(impatient(database).list_tables) == "InternalServerError"
        database.reset()
        assert outcome(impatient(database).list_tables) == "done"
    path.write_text('[[fault]]\nkind = "error"\noperation = "ListTable"\n')
    with pytest.raises(FaultsError, match=r"fault 1: there is no operation ListTable\."):
        server(Settings(data_dir=None, faults=str(path))).__enter__()


# --- as a process, and over the admin API ---------------------------------------------------------------------


def serve(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hashrange", "serve", "--in-memory", "--port", "0", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the file of faults faults.toml cannot be read: No such file or directory."),
        ('[[fault]]\nkind = "slow"', 'faults.toml cannot be used: fault 1: the kind "slow" needs the member seconds.'),
        ('[[fault]]\nkind = "error"\noperation = "Get"', "fault 1: there is no operation Get."),
    ],
)
def test_a_server_does_not_start_with_faults_that_cannot_be_met(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "faults.toml").write_text(text)
    process = serve(tmp_path, "--faults", "faults.toml")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_a_server_starts_with_a_file_and_its_faults_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "faults.toml").write_text('seed = 3\n[[fault]]\nkind = "error"\noperation = "ListTables"\ncount = 1\n')
    process = serve(tmp_path, "--admin", "--faults", "faults.toml")
    try:
        assert process.stdout is not None
        endpoint = next(word.rstrip(",") for word in process.stdout.readline().split() if "://" in word)
        with connected(endpoint) as client:
            client.sendall(request("ListTables") + request("ListTables"))
            assert [one_reply(client)[0] for _ in range(2)] == [500, 200]
            client.sendall(admin("GET", "faults"))
            told = json.loads(one_reply(client)[1])
            (entry,) = told.pop("report")
            assert told == {
                "faults": [{"kind": "error", "operation": "ListTables", "count": 1}],
                "seed": 3,
                "met": 1,
            }
            assert entry.pop("service_time") > 1_700_000_000
            assert entry == {"number": 1, "fault": 1, "kind": "error", "operation": "ListTables"}
            client.sendall(admin("POST", "faults", faults=EVERY_KIND, seed=5))
            status, body = one_reply(client)
            assert (status, json.loads(body)) == (200, {"faults": EVERY_KIND, "seed": 5})
            client.sendall(admin("POST", "reset") + admin("GET", "faults"))
            assert [json.loads(one_reply(client)[1]) for _ in range(2)][1] == {
                "faults": [],
                "seed": 0,
                "met": 0,
                "report": [],
            }
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.mark.parametrize(("fault", "message"), WRONG)
def test_the_admin_api_refuses_what_code_is_refused(fault: dict[str, Any], message: str) -> None:
    with server(Settings(data_dir=None, admin=True)) as database, connected(database.endpoint) as client:
        client.sendall(admin("POST", "faults", faults=[fault]) + admin("GET", "faults"))
        status, body = one_reply(client)
        assert (status, json.loads(body)) == (400, {"error": message})
        assert json.loads(one_reply(client)[1])["faults"] == []


@pytest.mark.parametrize("members", [{}, {"faults": {}}, {"faults": [5]}, {"fault": []}, {"faults": [], "seed": 1.5}])
def test_a_body_that_is_no_list_of_faults_is_answered_with_an_example(members: dict[str, Any]) -> None:
    with server(Settings(data_dir=None, admin=True)) as database, connected(database.endpoint) as client:
        client.sendall(admin("POST", "faults", **members))
        status, body = one_reply(client)
        assert status == 400
        assert '"kind": "throttle"' in json.loads(body)["error"]


def test_the_report_is_read_in_parts() -> None:
    with server(Settings(data_dir=None, admin=True)) as database, connected(database.endpoint) as client:
        database.faults.use(Fault("throttle", operation="Scan"), Fault("slow", seconds=0))
        for _ in range(1100):
            database._process.call("000000000000", "us-east-1", "ListTables", {})
        found: list[int] = []
        for expected in (1000, 100, 0):
            client.sendall(admin("GET", "faults", after=len(found)))
            told = json.loads(one_reply(client)[1])
            assert (len(told["report"]), told["met"]) == (expected, 1100)
            found += [entry["number"] for entry in told["report"]]
        assert found == list(range(1, 1101))


def test_a_report_over_the_admin_api_names_the_item() -> None:
    with server(Settings(data_dir=None, admin=True)) as database, connected(database.endpoint) as client:
        database.client().create_table(
            TableName="music",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        database.faults.use(Fault("throttle", table="music", key={"pk": {"S": "a"}}))
        client.sendall(request("GetItem", TableName="music", Key=song("a")) + admin("GET", "faults"))
        assert one_reply(client)[0] == 400
        (entry,) = json.loads(one_reply(client)[1])["report"]
        assert (entry["table"], bytes.fromhex(entry["key"])[-1:]) == ("music", b"a")
