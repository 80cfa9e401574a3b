"""Tests of clients that know nothing of Hashrange: with no network, and nothing configured on the machine."""

import os
from typing import Any

import boto3
import pytest

REGION = "eu-west-1"


class SentAway(Exception):
    """A request would have gone to the network."""


def forbid_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests that botocore sends fail."""

    def refuse(*_: Any, **__: Any) -> None:
        raise SentAway

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", refuse)


def configure_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the credentials and Region of the machine, and the default session of other tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


def tables() -> list[str]:
    """The tables that code with a client of its own sees."""
    found: list[str] = boto3.Session().client("dynamodb", region_name=REGION).list_tables()["TableNames"]
    return found


def make_table(name: str, **members: Any) -> list[str]:
    """Create a table in the way of code that makes its own client; all tables that there are then."""
    table = {
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    boto3.Session().client("dynamodb", region_name=REGION).create_table(TableName=name, **(table | members))
    return tables()
