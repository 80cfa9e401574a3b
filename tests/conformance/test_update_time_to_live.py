"""UpdateTimeToLive: turning it on and off, its refusals, and the deletion of expired items."""

import time
from typing import Any

import pytest

from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

NAME = "expires"


@pytest.fixture
def name(client: Any) -> str:
    """Name of a table that only one test uses."""
    name = fresh_name()
    client.create_table(**create_request(name))
    client.get_waiter("table_exists").wait(TableName=name)
    return name


def change(table: str, attribute: str = NAME, *, is_on: bool = True) -> dict[str, Any]:
    return {"TableName": table, "TimeToLiveSpecification": {"Enabled": is_on, "AttributeName": attribute}}


def described(client: Any, name: str) -> Any:
    return client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]


def enable(client: Any, name: str) -> None:
    client.update_time_to_live(**change(name))
    wait_until(lambda: described(client, name)["TimeToLiveStatus"] == "ENABLED")


def ids(client: Any, name: str) -> list[str]:
    found = client.scan(TableName=name, ConsistentRead=True)["Items"]
    return sorted(item["id"]["S"] for item in found)


def test_the_reply_repeats_what_was_asked_for(client: Any, name: str) -> None:
    reply = client.update_time_to_live(**change(name))
    assert reply["TimeToLiveSpecification"] == {"Enabled": True, "AttributeName": NAME}
    assert described(client, name)["TimeToLiveStatus"] in {"ENABLING", "ENABLED"}
    assert described(client, name)["AttributeName"] == NAME


def test_by_arn(client: Any, name: str) -> None:
    arn = client.describe_table(TableName=name)["Table"]["TableArn"]
    client.update_time_to_live(**change(arn))
    assert described(client, name)["AttributeName"] == NAME


def test_what_has_expired_goes_and_the_rest_stays(client: Any, name: str) -> None:
    now = int(time.time())
    before = {"id": {"S": "before"}, NAME: {"N": str(now - 60)}}
    client.put_item(TableName=name, Item=before)
    enable(client, name)
    values = {
        "after": {"N": str(now - 60)},
        "future": {"N": str(now + 10**8)},
        "text": {"S": str(now - 60)},
        "old": {"N": str(now - 6 * 366 * 86_400)},
    }
    for key, value in values.items():
        client.put_item(TableName=name, Item={"id": {"S": key}, NAME: value})
    client.put_item(TableName=name, Item={"id": {"S": "without"}})
    wait_until(lambda: ids(client, name) == ["future", "old", "text", "without"])


def test_on_when_it_is_on(client: Any, raw: RawClient, name: str) -> None:
    client.update_time_to_live(**change(name))
    assert validation(raw, "UpdateTimeToLive", change(name)) == "TimeToLive is already enabled"
    assert (
        validation(raw, "UpdateTimeToLive", change(name, "other"))
        == "TimeToLive is active on a different AttributeName: current AttributeName is expires"
    )


def test_off_when_it_is_off(raw: RawClient, name: str) -> None:
    assert validation(raw, "UpdateTimeToLive", change(name, is_on=False)) == "TimeToLive is already disabled"


def test_off_with_another_name(client: Any, raw: RawClient, name: str) -> None:
    client.update_time_to_live(**change(name))
    assert (
        validation(raw, "UpdateTimeToLive", change(name, "other", is_on=False))
        == "TimeToLive is active on a different AttributeName: current AttributeName is expires"
    )


def test_twice_within_an_hour(client: Any, raw: RawClient, name: str) -> None:
    client.update_time_to_live(**change(name))
    assert (
        validation(raw, "UpdateTimeToLive", change(name, is_on=False))
        == "Time to live has been modified multiple times within a fixed interval"
    )


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, "UpdateTimeToLive", change("nothing.here")) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


@pytest.mark.parametrize("attribute", ["", "a" * 256])
def test_length_of_the_name(raw: RawClient, name: str, attribute: str) -> None:
    message = validation(raw, "UpdateTimeToLive", change(name, attribute))
    assert "at 'timeToLiveSpecification.attributeName' failed to satisfy constraint" in str(message)


@pytest.mark.parametrize("member", ["Enabled", "AttributeName"])
def test_members_that_are_required(raw: RawClient, name: str, member: str) -> None:
    body = change(name)
    del body["TimeToLiveSpecification"][member]
    assert "failed to satisfy constraint: Member must not be null" in str(validation(raw, "UpdateTimeToLive", body))
