"""UpdateTable: which changes may come in one request, which may not, and what the reply shows as UPDATING."""

from itertools import combinations
from typing import Any

import pytest

from tests.conformance.tables import INVALID, create_request, definitions, fresh_name, index, units, validation
from tests.support.raw_client import RawClient

STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}}
ENCRYPTION = {"SSESpecification": {"Enabled": True}}
CLASS = {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
PROTECTION = {"DeletionProtectionEnabled": True}
WARM = {"WarmThroughput": {"ReadUnitsPerSecond": 13_000}}
MAXIMUM = {"OnDemandThroughput": {"MaxReadRequestUnits": 100}}
UNITS = {"ProvisionedThroughput": units(6, 6)}
ON_DEMAND = {"BillingMode": "PAY_PER_REQUEST"}
DEFINED = {"AttributeDefinitions": definitions("id")}
CREATE = DEFINED | {"GlobalSecondaryIndexUpdates": [{"Create": index("added", ProvisionedThroughput=units(1, 1))}]}
DELETE = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "index"}}]}
INDEX_WARM = {
    "GlobalSecondaryIndexUpdates": [
        {"Update": {"IndexName": "index", "WarmThroughput": {"WriteUnitsPerSecond": 5_000}}}
    ]
}
INDEX_MAXIMUM = {
    "GlobalSecondaryIndexUpdates": [
        {"Update": {"IndexName": "index", "OnDemandThroughput": {"MaxReadRequestUnits": 9}}}
    ]
}
ALONE: dict[str, dict[str, Any]] = {
    "Server-Side Encryption": ENCRYPTION,
    "TableClass": CLASS,
    "DeletionProtection": PROTECTION,
}
"""In the order in which messages name them."""
OTHERS: list[dict[str, Any]] = [WARM, MAXIMUM, UNITS, ON_DEMAND, STREAM, CREATE, DELETE, INDEX_WARM]


@pytest.fixture
def on_demand(client: Any) -> str:
    """An on-demand table with the global index `index`."""
    name = fresh_name()
    client.create_table(**create_request(name, GlobalSecondaryIndexes=[index()]))
    return name


@pytest.fixture
def provisioned(client: Any) -> str:
    """A provisioned table of 5 and 5 units, with the global index `index`, also of 5 and 5."""
    name = fresh_name()
    indexes = [index(ProvisionedThroughput=units(5, 5))]
    throughput = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(5, 5)}
    client.create_table(**create_request(name, GlobalSecondaryIndexes=indexes, **throughput))
    return name


def described(client: Any, name: str) -> Any:
    """The table as DescribeTable returns it."""
    return client.describe_table(TableName=name)["Table"]


def refusal(raw: RawClient, name: str, *changes: dict[str, Any]) -> str | None:
    """The message of the ValidationException for these changes in one request."""
    request: dict[str, Any] = {"TableName": name}
    for change in changes:
        request |= change
    return validation(raw, "UpdateTable", request)


@pytest.mark.parametrize("kind", ALONE)
def test_what_comes_alone(client: Any, raw: RawClient, provisioned: str, kind: str) -> None:
    before = described(client, provisioned)
    for other in OTHERS:
        expected = INVALID + f"{kind} modification must be the only operation in the request"
        assert refusal(raw, provisioned, ALONE[kind], other) == expected
    assert described(client, provisioned) == before


def test_of_several_that_come_alone_one_is_named(raw: RawClient, provisioned: str) -> None:
    for (first, one), (_, other) in combinations(ALONE.items(), 2):
        expected = INVALID + f"{first} modification must be the only operation in the request"
        assert refusal(raw, provisioned, one, other) == expected


REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "warm throughput and a stream": ([WARM, STREAM], "WarmThroughput must be the only operation in the request"),
    "warm throughput and units": ([WARM, UNITS], "WarmThroughput must be the only operation in the request"),
    "warm throughput and an index less": ([WARM, DELETE], "WarmThroughput must be the only operation in the request"),
    "warm throughput and a new index": (
        [WARM, CREATE],
        "Create global secondary index cannot be specified when updating WarmThroughput",
    ),
    "a maximum and a stream": (
        [MAXIMUM, STREAM],
        "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
    ),
    "a maximum and warm throughput": (
        [MAXIMUM, WARM],
        "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
    ),
    "units and a stream": ([UNITS, STREAM], "You cannot modify stream status while updating table IOPS"),
    "provisioned units and a stream": (
        [UNITS, {"BillingMode": "PROVISIONED"}, STREAM],
        "You cannot modify stream status while updating table IOPS",
    ),
    "units and a new index": ([UNITS, CREATE], "You cannot create or delete index while updating table IOPS"),
    "units and an index less": ([UNITS, DELETE], "You cannot create or delete index while updating table IOPS"),
    "a stream and a new index": ([STREAM, CREATE], "You cannot create or delete index while changing stream status"),
    "a stream and an index less": ([STREAM, DELETE], "You cannot create or delete index while changing stream status"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together(client: Any, raw: RawClient, provisioned: str, case: str) -> None:
    changes, message = REFUSED[case]
    before = described(client, provisioned)
    assert refusal(raw, provisioned, *changes) == INVALID + message
    assert described(client, provisioned) == before


@pytest.mark.parametrize(
    "changes",
    [
        [ON_DEMAND, MAXIMUM],
        [ON_DEMAND, STREAM],
        [ON_DEMAND, DELETE],
        [
            UNITS,
            {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "index", "ProvisionedThroughput": units(7, 7)}}]},
        ],
        [PROTECTION, DEFINED],
        [PROTECTION, {"WarmThroughput": {}}],
    ],
)
def test_what_goes_together(client: Any, provisioned: str, changes: list[dict[str, Any]]) -> None:
    request: dict[str, Any] = {"TableName": provisioned}
    for change in changes:
        request |= change
    client.update_table(**request)


def test_warm_throughput_of_a_table_and_its_index_go_together(client: Any, on_demand: str) -> None:
    reply = client.update_table(TableName=on_demand, **WARM, **INDEX_WARM)["TableDescription"]
    of_index = reply["GlobalSecondaryIndexes"][0]
    assert [one["WarmThroughput"]["Status"] for one in (reply, of_index)] == ["UPDATING", "UPDATING"]
    assert (reply["TableStatus"], of_index["IndexStatus"]) == ("ACTIVE", "ACTIVE")
    table = described(client, on_demand)
    assert table["WarmThroughput"] == {
        "ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE",
    }  # fmt: skip
    assert table["GlobalSecondaryIndexes"][0]["WarmThroughput"]["WriteUnitsPerSecond"] == 5_000


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (PROTECTION, "ACTIVE"),
        (MAXIMUM, "ACTIVE"),
        (WARM, "ACTIVE"),
        (ENCRYPTION, "ACTIVE"),
        (INDEX_WARM, "ACTIVE"),
        (INDEX_MAXIMUM, "ACTIVE"),
        (CLASS, "UPDATING"),
        (STREAM, "UPDATING"),
        (DELETE, "UPDATING"),
        (ON_DEMAND, "UPDATING"),
        ({"BillingMode": "PROVISIONED", **UNITS, **DELETE}, "UPDATING"),
    ],
)
def test_the_status_in_the_reply(client: Any, on_demand: str, change: dict[str, Any], status: str) -> None:
    assert client.update_table(TableName=on_demand, **change)["TableDescription"]["TableStatus"] == status


def test_an_index_that_gets_a_maximum_is_updating(client: Any, on_demand: str) -> None:
    reply = client.update_table(TableName=on_demand, **INDEX_MAXIMUM)["TableDescription"]
    assert reply["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"


def test_warm_throughput_that_is_there_is_not_updating(client: Any, on_demand: str) -> None:
    same = {"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000}}
    reply = client.update_table(TableName=on_demand, **same)["TableDescription"]
    assert reply["WarmThroughput"]["Status"] == "ACTIVE"


def test_a_new_table_tells_its_warm_throughput_if_it_was_asked_for(client: Any) -> None:
    reply = client.create_table(**create_request(fresh_name()))["TableDescription"]
    assert "WarmThroughput" not in reply
    reply = client.create_table(**create_request(fresh_name(), **WARM))["TableDescription"]
    assert reply["WarmThroughput"]["ReadUnitsPerSecond"] == 13_000
