"""Mappings of the file of triggers: one for each stream of a table that they name, over restarts,
changes of the file and of tables.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing.database import server
from tests.support.waiting import wait_until

FUNCTION = '[functions.f]\nurl = "http://127.0.0.1:9/"\n'
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


class Served:
    """A database with a file of triggers, and clients of it."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self.tables = self.client("dynamodb")
        self.mappings = self.client("lambda")

    def client(self, service: str, key: str = "test") -> Any:
        return boto3.client(
            service,
            endpoint_url=self._endpoint,
            region_name="us-east-1",
            aws_access_key_id=key,
            aws_secret_access_key="test",
        )

    def create(self, name: str = "orders", **members: Any) -> str | None:
        made = self.tables.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            **members,
        )
        arn: str | None = made["TableDescription"].get("LatestStreamArn")
        return arn

    def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.mappings.list_event_source_mappings()["EventSourceMappings"]
        return found

    def sources(self) -> list[str]:
        return [one["EventSourceArn"] for one in self.listed()]


@contextmanager
def serving(folder: Path, text: str) -> Iterator[Served]:
    path = folder / "triggers.toml"
    path.write_text(FUNCTION + text)
    with server(Settings(data_dir=str(folder / "data"), triggers=str(path), port=0)) as database:
        yield Served(database.endpoint)


def mapping(**members: Any) -> str:
    lines = ["[[mapping]]", 'function = "f"', 'table = "orders"']
    return "\n".join([*lines, *(f"{name} = {value}" for name, value in members.items()), ""])


def test_a_mapping_follows_the_streams_of_its_table(tmp_path: Path) -> None:
    with serving(tmp_path, mapping()) as served:
        assert served.listed() == []
        first = served.create(StreamSpecification=STREAM)
        wait_until(lambda: served.sources() == [first])
        served.create("others", StreamSpecification=STREAM)
        served.tables.update_table(TableName="orders", StreamSpecification={"StreamEnabled": False})
        served.tables.update_table(TableName="orders", StreamSpecification=STREAM)
        second = served.tables.describe_table(TableName="orders")["Table"]["LatestStreamArn"]
        wait_until(lambda: sorted(served.sources()) == sorted([str(first), second]))


def test_only_tables_of_the_account_and_region_that_it_names(tmp_path: Path) -> None:
    with serving(tmp_path, mapping(account='"123456789012"')) as served:
        served.create(StreamSpecification=STREAM)
        other = served.client("dynamodb", "123456789012")
        served.tables = other
        arn = served.create(StreamSpecification=STREAM)
        theirs = served.client("lambda", "123456789012")
        wait_until(lambda: theirs.list_event_source_mappings()["EventSourceMappings"])
        assert [one["EventSourceArn"] for one in theirs.list_event_source_mappings()["EventSourceMappings"]] == [arn]
        assert served.listed() == []


def test_it_keeps_its_identity_over_a_restart_and_takes_new_settings(tmp_path: Path) -> None:
    with serving(tmp_path, mapping(batch_size=7)) as served:
        served.create(StreamSpecification=STREAM)
        wait_until(served.listed)
        (before,) = served.listed()
        assert before["BatchSize"] == 7
    with serving(tmp_path, mapping(batch_size=9, enabled="false")) as served:
        wait_until(lambda: served.listed()[0]["BatchSize"] == 9)
        (after,) = served.listed()
        assert (after["UUID"], after["State"]) == (before["UUID"], "Disabled")
    with serving(tmp_path, "") as served:
        wait_until(lambda: served.listed() == [])


def test_requests_cannot_change_it(tmp_path: Path) -> None:
    with serving(tmp_path, mapping()) as served:
        served.create(StreamSpecification=STREAM)
        wait_until(served.listed)
        (found,) = served.listed()
        with pytest.raises(ClientError, match="declared in the settings of this server"):
            served.mappings.delete_event_source_mapping(UUID=found["UUID"])
        with pytest.raises(ClientError, match="declared in the settings of this server"):
            served.mappings.update_event_source_mapping(UUID=found["UUID"], BatchSize=1)
        assert served.listed() == [found]


def test_of_two_that_connect_the_same_only_the_one_still_in_the_file_is_kept(tmp_path: Path) -> None:
    both = mapping(filters="['{\"a\": [1]}']") + mapping(filters="['{\"b\": [2]}']")
    with serving(tmp_path, both) as served:
        served.create(StreamSpecification=STREAM)
        wait_until(lambda: len(served.listed()) == 2)
    with serving(tmp_path, mapping(filters="['{\"b\": [2]}']")) as served:
        wait_until(lambda: len(served.listed()) == 1)
        (left,) = served.listed()
        assert left["FilterCriteria"]["Filters"] == [{"Pattern": '{"b": [2]}'}]


def test_a_function_that_is_missing_is_named_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(tmp_path, mapping().replace('"f"', '"ff"')):
        pass
    assert "mapping 1: there is no function ff yet; functions: f" in caplog.text


def test_those_of_requests_are_left_alone(tmp_path: Path) -> None:
    with serving(tmp_path, "") as served:
        arn = served.create(StreamSpecification=STREAM)
        made = served.mappings.create_event_source_mapping(
            FunctionName="f", EventSourceArn=arn, StartingPosition="LATEST"
        )
    with serving(tmp_path, "") as served:
        served.create("others", StreamSpecification=STREAM)
        assert [one["UUID"] for one in served.listed()] == [made["UUID"]]
