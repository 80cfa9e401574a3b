"""ListGlobalTables: an empty page, and the validation of its members."""

from typing import Any

import pytest

from tests.conformance.tables import validation
from tests.support.raw_client import RawClient


def test_there_are_no_global_tables(client: Any, raw: RawClient) -> None:
    reply = raw("ListGlobalTables", {})
    assert (reply.status, reply.json()) == (200, {"GlobalTables": []})
    assert (
        client.list_global_tables(ExclusiveStartGlobalTableName="abc", Limit=1, RegionName="eu-west-1")["GlobalTables"]
        == []
    )


START = "Value 'abc;' at 'exclusiveStartGlobalTableName' failed to satisfy constraint: Member must satisfy regular "


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"Limit": 0},
            "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
        ),
        ({"ExclusiveStartGlobalTableName": "abc;"}, START + "expression pattern: [a-zA-Z0-9_.-]+"),
    ],
)
def test_constraints(raw: RawClient, request_: dict[str, Any], message: str) -> None:
    assert validation(raw, "ListGlobalTables", request_) == f"1 validation error detected: {message}"
