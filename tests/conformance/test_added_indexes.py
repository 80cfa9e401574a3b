"""UpdateTable that adds an index: which attribute definitions it needs, and what happens to existing definitions."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, definitions, fresh_name, index, keys, validation
from tests.support.raw_client import RawClient


def number(name: str) -> dict[str, str]:
    """Definition of a number attribute."""
    return {"AttributeName": name, "AttributeType": "N"}


@pytest.fixture
def on_demand(client: Any) -> str:
    """A table by `id` and `at`, with the global index `index` by `user`; all keys are strings."""
    name = fresh_name()
    client.create_table(
        **create_request(
            name,
            AttributeDefinitions=definitions("id", "at", "user"),
            KeySchema=keys("id", "at"),
            GlobalSecondaryIndexes=[index("index", "user")],
        )
    )
    return name


def added(name: str, created: dict[str, Any], *defined: dict[str, str]) -> dict[str, Any]:
    return {
        "TableName": name,
        "AttributeDefinitions": list(defined),
        "GlobalSecondaryIndexUpdates": [{"Create": created}],
    }


@pytest.mark.parametrize("attribute", ["id", "at", "user"])
def test_an_attribute_that_is_there_keeps_its_type(client: Any, on_demand: str, attribute: str) -> None:
    before = client.describe_table(TableName=on_demand)["Table"]["AttributeDefinitions"]
    described = client.update_table(**added(on_demand, index("added", attribute), number(attribute)))
    assert described["TableDescription"]["AttributeDefinitions"] == before
    assert client.describe_table(TableName=on_demand)["Table"]["AttributeDefinitions"] == before


def test_definitions_are_merged(client: Any, on_demand: str) -> None:
    described = client.update_table(
        **added(on_demand, index("added", "shop", "id"), number("id"), number("shop"), number("shop"))
    )
    merged = described["TableDescription"]["AttributeDefinitions"]
    assert sorted(merged, key=lambda one: one["AttributeName"]) == [
        *definitions("at", "id"), number("shop"), *definitions("user")
    ]  # fmt: skip


def test_an_added_index_takes_items_of_the_type_that_stayed(client: Any, on_demand: str) -> None:
    client.update_table(**added(on_demand, index("added", "user"), number("user")))
    item = {name: {"S": name} for name in ("id", "at", "user")}
    client.put_item(TableName=on_demand, Item=item)
    with pytest.raises(client.exceptions.ClientError, match="Type mismatch for Index Key user Expected: S Actual: N"):
        client.put_item(TableName=on_demand, Item=item | {"user": {"N": "1"}})


@pytest.mark.parametrize("attribute", ["id", "at", "user"])
def test_what_only_the_table_defines_is_refused(raw: RawClient, on_demand: str, attribute: str) -> None:
    others = [one for one in definitions("id", "at", "user") if one["AttributeName"] != attribute]
    request = added(on_demand, index("added", attribute), *others)
    names = ", ".join(one["AttributeName"] for one in others)
    assert validation(raw, "UpdateTable", request) == (
        "One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: [{attribute}], AttributeDefinitions: [{names}]"
    )


def test_an_undefined_key_attribute_is_told_beside_what_is_defined(raw: RawClient, on_demand: str) -> None:
    request = {
        "TableName": on_demand,
        "AttributeDefinitions": definitions("id"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("added", hash_name="q")}],
    }
    message = str(validation(raw, "UpdateTable", request))
    assert "Keys: [q], AttributeDefinitions: [" in message
    names = message.partition("AttributeDefinitions: [")[2].rstrip("]").split(", ")
    assert len(names) == len(set(names)) > 0
