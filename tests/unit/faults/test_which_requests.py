"""Which requests meet a fault: those that its members name, as often as they say,
the same with the same seed; and the report.
"""

from collections.abc import Callable
from typing import Any

import pytest

from hashrange.faults import drawing
from hashrange.faults.fault import Fault
from hashrange.testing.database import Database
from tests.unit.faults.kit import CHAT, impatient, make_chat, make_music, message, met, outcome, put_songs, song

QUERY = {"KeyConditionExpression": "room = :r", "ExpressionAttributeValues": {":r": {"S": "r"}}}


def get(client: Any, key: str = "a", table: str = "music") -> str:
    return outcome(client.get_item, TableName=table, Key=song(key))


# --- operation and table ------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["GetItem", ("GetItem",), ["Query", "GetItem"], ("Scan", "GetItem", "PutItem")])
@pytest.mark.parametrize("kind", ["throttle", "error"])
def test_one_or_several_operations(database: Database, operation: Any, kind: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault(kind, operation=operation))
    assert get(client) != "done"
    client.delete_item(TableName="music", Key=song("a"))
    client.batch_get_item(RequestItems={"music": {"Keys": [song("a")]}})
    assert met(database) == [(1, "GetItem")]


def test_operations_without_tables_can_fail_too(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", operation=("ListTables", "CreateTable"), count=2))
    assert outcome(client.list_tables) == "InternalServerError"
    assert outcome(make_music, client, "songs") == "InternalServerError"
    assert client.list_tables()["TableNames"] == [CHAT, "music"]
    streams = impatient(database, "dynamodbstreams")
    database.faults.use(Fault("error", operation="ListStreams"))
    assert outcome(streams.list_streams) == "InternalServerError"


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.get_item(TableName="music", Key=song("a")),
        lambda client: client.describe_table(TableName="music"),
        lambda client: client.batch_get_item(
            RequestItems={CHAT: {"Keys": [message("r", 1)]}, "music": {"Keys": [song("a")]}}
        ),
        lambda client: client.transact_get_items(
            TransactItems=[
                {"Get": {"TableName": CHAT, "Key": message("r", 1)}},
                {"Get": {"TableName": "music", "Key": song("a")}},
            ]
        ),
        lambda client: client.execute_statement(Statement="SELECT * FROM music"),
        lambda client: client.execute_statement(Statement="SELECT * FROM \"music\" WHERE pk = 'a'"),
        lambda client: client.execute_transaction(
            TransactStatements=[{"Statement": "SELECT * FROM music WHERE pk = 'a'"}]
        ),
        lambda client: client.tag_resource(
            ResourceArn=client.describe_table(TableName="music")["Table"]["TableArn"], Tags=[{"Key": "a", "Value": "b"}]
        ),
    ],
)
def test_requests_name_their_tables(database: Database, call: Callable[[Any], Any]) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", table="songs"))
    call(client)
    database.faults.use(Fault("error", table="music"))
    assert outcome(call, client) == "InternalServerError"
    client.get_item(TableName=CHAT, Key=message("r", 1))


def test_statements_that_name_no_table_are_refused_as_ever(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", table="music"), Fault("throttle", table="music", key=song("a")))
    for statement in ("garbage", "SELECT * FROM", "'", "INSERT INTO arn:aws VALUE {}", "SELECT * FROM \x00"):
        assert outcome(client.execute_statement, Statement=statement) == "ValidationException"
        wanted = [{"Statement": statement}]
        assert outcome(client.execute_transaction, TransactStatements=wanted) in {
            "ValidationException",
            "TransactionCanceledException",
        }


def test_a_table_of_any_account_and_region(database: Database) -> None:
    elsewhere = database.client(config=impatient(database).meta.config, region_name="eu-west-1")
    make_music(elsewhere)
    other = database.client(config=elsewhere.meta.config, aws_access_key_id="123456789012")
    make_music(other)
    database.faults.use(Fault("throttle", table="music"))
    assert [get(client) for client in (impatient(database), elsewhere, other)] == ["ThrottlingException"] * 3


# --- key ----------------------------------------------------------------------------------------------


def fill(client: Any) -> None:
    for room in ("r", "s"):
        for at in range(4):
            client.put_item(TableName=CHAT, Item=message(room, at))


@pytest.mark.parametrize("kind", ["throttle", "error"])
def test_a_whole_key_names_one_item(database: Database, kind: Any) -> None:
    client = impatient(database)
    fill(client)
    database.faults.use(Fault(kind, table=CHAT, key={"room": {"S": "r"}, "at": {"N": "1.0"}}))
    refused = [
        (room, at)
        for room in ("r", "s")
        for at in range(4)
        if outcome(client.get_item, TableName=CHAT, Key=message(room, at)) != "done"
    ]
    assert refused == [("r", 1)]
    assert outcome(client.put_item, TableName=CHAT, Item=message("r", 1)) != "done"
    client.put_item(TableName=CHAT, Item=message("r", 2))
    assert client.query(TableName=CHAT, **QUERY)["Count"] == 4  # reads a range, not this item
    assert client.scan(TableName=CHAT)["Count"] == 8


@pytest.mark.parametrize("kind", ["throttle", "error"])
def test_a_partition_key_names_its_items_and_the_reads_of_it_alone(database: Database, kind: Any) -> None:
    client = impatient(database)
    fill(client)
    ranges: list[dict[str, Any]] = [
        {},
        {"ScanIndexForward": False},
        {"Limit": 1},
        {"ExclusiveStartKey": message("r", 1)},
        {"ExclusiveStartKey": message("r", 1), "ScanIndexForward": False},
        {"KeyConditionExpression": "room = :r AND #a = :a"},
        {"KeyConditionExpression": "room = :r AND #a > :a", "ScanIndexForward": False},
        {"KeyConditionExpression": "room = :r AND #a <= :a"},
    ]
    database.faults.use(Fault(kind, table=CHAT, key={"room": {"S": "r"}}))
    for one in ranges:
        sorted_by = "#a" in one.get("KeyConditionExpression", "")
        names = {"ExpressionAttributeNames": {"#a": "at"}} if sorted_by else {}
        for room, is_met in (("r", True), ("s", False)):
            values = {":r": {"S": room}, **({":a": {"N": "1"}} if sorted_by else {})}
            wanted = {**QUERY, **one, **names, "ExpressionAttributeValues": values}
            if "ExclusiveStartKey" in one:
                wanted["ExclusiveStartKey"] = message(room, 1)
            assert (outcome(client.query, TableName=CHAT, **wanted) != "done") == is_met, (one, room)
    assert outcome(client.get_item, TableName=CHAT, Key=message("r", 9)) != "done"
    assert outcome(client.get_item, TableName=CHAT, Key=message("s", 1)) == "done"
    for statement, is_met in (("= 'r'", True), ("IN ['r', 's']", True), ("= 's'", False)):
        text = f"SELECT * FROM chat WHERE room {statement}"
        assert (outcome(client.execute_statement, Statement=text) != "done") == is_met
    start = {"ExclusiveStartKey": message("r", 1)}
    for scan in ({}, start, {"Segment": 0, "TotalSegments": 1}):
        client.scan(TableName=CHAT, **scan)
    client.scan(TableName=CHAT, IndexName="by_topic")


@pytest.mark.parametrize(
    "key",
    [
        {"room": {"N": "1"}},
        {"pk": {"S": "a"}},
        {"at": {"N": "1"}},
        {"room": {"S": "r"}, "author": {"S": "a"}},
        {"room": {"S": "r"}, "at": {"S": "1"}},
        {"room": {"S": ""}},
        {"room": {"S": "r" * 3000}},
    ],
)
def test_a_key_that_does_not_fit_its_table_is_never_met(database: Database, key: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", table=CHAT, key=key), Fault("error", table=CHAT, key=key))
    fill(client)
    assert client.query(TableName=CHAT, **QUERY)["Count"] == 4
    assert met(database) == []


def test_bytes_are_a_key_in_code_as_in_boto3(database: Database) -> None:
    client = impatient(database)
    client.create_table(
        TableName="hashes",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "B"} for name in ("id", "part")],
        BillingMode="PAY_PER_REQUEST",
    )
    for key in ({"id": {"B": b"\xff\x00"}}, {"id": {"B": "/wA="}}):
        database.faults.use(Fault("throttle", table="hashes", key=key))
        for identity, expected in ((b"\xff\x00", "ThrottlingException"), (b"\xff", "done")):
            item = {"id": {"B": identity}, "part": {"B": b"\xff\xff"}}
            assert outcome(client.put_item, TableName="hashes", Item=item) == expected


def test_a_table_that_is_created_again_is_met_again(database: Database) -> None:
    client = impatient(database)
    database.faults.use(
        Fault("throttle", table="music", key=song("a")), Fault("throttle", table="music", key={"room": {"S": "r"}})
    )
    assert get(client) == "ThrottlingException"
    client.delete_table(TableName="music")
    assert get(client) == "ResourceNotFoundException"
    make_music(client)
    assert [get(client, key) for key in "ab"] == ["ThrottlingException", "done"]
    client.delete_table(TableName="music")
    client.delete_table(TableName=CHAT)
    make_chat(client)
    client.update_table(TableName=CHAT, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    client.create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "room", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "room", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    assert outcome(client.get_item, TableName="music", Key={"room": {"S": "r"}}) == "ThrottlingException"
    assert {one.fault for one in database.faults.report} == {1, 2}


# --- share, skip, count and seed ----------------------------------------------------------------------


def test_skip_and_count_are_of_matches(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", table="music", operation="GetItem", skip=2, count=3))
    put_songs(client, *"abc")
    client.get_item(TableName=CHAT, Key=message("r", 1))
    outcomes = [get(client) for _ in range(8)]
    assert outcomes == ["done"] * 2 + ["ThrottlingException"] * 3 + ["done"] * 3
    database.faults.use(Fault("error", skip=1, count=1), Fault("error", skip=1, count=1))
    assert [get(client) for _ in range(3)] == ["done", "InternalServerError", "done"]
    assert met(database) == [(1, "GetItem"), (2, "GetItem")]


def test_no_share_is_nobody(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", share=0, count=5), Fault("error", share=0, skip=2))
    assert [get(client) for _ in range(50)] == ["done"] * 50
    assert met(database) == []


def test_a_share_is_about_that_many_and_each_fault_draws_for_itself(database: Database) -> None:
    client = impatient(database)
    alone = Fault("throttle", share=0.3)

    def numbers(*faults: Fault, seed: int) -> list[int]:
        database.faults.use(*faults, seed=seed)
        return [number for number in range(100) if get(client) == "ThrottlingException"]

    first = numbers(alone, seed=7)
    assert 15 < len(first) < 45
    assert numbers(alone, Fault("error", operation="Scan", share=0.5), seed=7) == first
    assert numbers(alone, seed=8) != first
    assert numbers(Fault("throttle", operation="Scan", share=0.3), alone, seed=7) != first


def test_a_long_read_is_drawn_once_however_many_slices_it_has(database: Database) -> None:
    client = impatient(database)
    for begin in range(0, 500, 25):
        items = [message("r", at, author={"S": "a"}) for at in range(begin, begin + 25)]
        client.batch_write_item(RequestItems={CHAT: [{"PutRequest": {"Item": item}} for item in items]})
    reads: list[Callable[[], Any]] = [
        lambda: client.scan(TableName=CHAT),
        lambda: client.scan(TableName=CHAT, IndexName="by_author", Select="COUNT"),
        lambda: client.query(TableName=CHAT, **QUERY, ScanIndexForward=False),
        lambda: client.scan(TableName=CHAT, FilterExpression="attribute_exists(author)"),
        lambda: client.execute_statement(Statement="SELECT * FROM chat WHERE room = 'r'"),
        lambda: client.scan(TableName=CHAT, Limit=300),
        lambda: client.scan(TableName=CHAT, Limit=300, ExclusiveStartKey=message("r", 99)),
    ]
    for read in reads:
        database.faults.use(Fault("throttle", skip=1))
        read()
        assert outcome(read) == "ThrottlingException"
        assert len(database.faults.report) == 1
    database.faults.use(Fault("throttle", skip=3))
    client.execute_statement(Statement="SELECT * FROM chat WHERE room IN ['r', 's', 't']")
    assert get(client) == "ThrottlingException"


# --- the report ---------------------------------------------------------------------------------------


def test_the_report_says_what_was_met_where_and_when(database: Database) -> None:
    client = impatient(database)
    database.clock.freeze()
    began = database.clock.now()
    database.faults.use(Fault("error", table="music", count=1), Fault("throttle"), Fault("slow", seconds=0))
    get(client)
    database.clock.advance(5)
    outcome(client.scan, TableName=CHAT, IndexName="by_author")
    get(client, "b")
    report = database.faults.report
    assert [(one.number, one.fault, one.kind, one.operation) for one in report] == [
        (1, 1, "error", "GetItem"),
        (2, 3, "slow", "GetItem"),
        (3, 3, "slow", "Scan"),
        (4, 2, "throttle", "Scan"),
        (5, 3, "slow", "GetItem"),
        (6, 2, "throttle", "GetItem"),
    ]
    assert [one.service_time - began for one in report] == [0, 0, 5, 5, 5, 5]
    assert [(one.table, one.index) for one in report] == [
        ("music", None),
        (None, None),
        (None, None),
        (CHAT, "by_author"),
        (None, None),
        ("music", None),
    ]
    assert [one.key is not None for one in report] == [False] * 5 + [True]


def test_faults_that_are_set_again_are_drawn_anew(database: Database) -> None:
    client = impatient(database)
    reports = []
    for _ in range(2):
        database.faults.use(Fault("throttle", share=0.5, skip=2), Fault("error", share=0.1), seed=42)
        assert database.faults.report == []
        for number in range(60):
            get(client, str(number))
            outcome(client.put_item, TableName="music", Item=song(str(number)))
        reports.append([(one.number, one.fault, one.operation, one.key) for one in database.faults.report])
    assert reports[0] == reports[1]
    assert len(reports[0]) > 30


def test_the_report_is_bounded_and_counting_goes_on(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    client = impatient(database)
    monkeypatch.setattr(drawing, "REPORTED_MAX", 10)
    database.faults.use(Fault("throttle"))
    for _ in range(15):
        get(client)
    assert [one.number for one in database.faults.report] == list(range(1, 11))
    assert database._process.service.requests.drawing is not None
    assert database._process.service.requests.drawing.met == 15
    database.faults.report.clear()  # a copy
    assert len(database.faults.report) == 10
