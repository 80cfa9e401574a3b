"""Profiles that assume a role, as tools have them: with one endpoint for all services, each client asks STS first
and then reaches the role's tables.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.clients.programs import aws_cli, heard, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

pytestmark = pytest.mark.packaging

CREDENTIALS_FILE = """
[[credential]]
access_key = "AKIDEXAMPLE"
secret_key = "a long secret"
account = "111122223333"
regions = ["eu-west-1"]
"""
PROFILES = """
[default]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = a long secret
region = eu-west-1

[profile deploy]
role_arn = arn:aws:iam::111122223333:role/teams/deploy
source_profile = default
role_session_name = {client}
region = eu-west-1
"""
FOLDER = HERE / "javascript"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that lets one access key in."""
    file = tmp_path_factory.mktemp("strict") / "credentials.toml"
    file.write_text(CREDENTIALS_FILE)
    server = ServerProcess(None, "--credentials", str(file))
    yield server
    server.stop()


@pytest.fixture
def profile(
    request: pytest.FixtureRequest, strict: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Name of the session; the environment of tools that are to assume the role."""
    name = request.node.name.removeprefix("test_")
    (tmp_path / "config").write_text(PROFILES.format(client=name))
    for variable in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_ENDPOINT_URL", strict.endpoint)
    monkeypatch.setenv("AWS_PROFILE", "deploy")
    return str(name)


def table(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    }


def arn_of(name: str) -> str:
    return f"arn:aws:dynamodb:eu-west-1:111122223333:table/{name}"


def test_boto3(profile: str) -> None:
    session = boto3.Session()
    identity = session.client("sts").get_caller_identity()
    assert identity["Arn"] == f"arn:aws:sts::111122223333:assumed-role/deploy/{profile}"
    made = session.client("dynamodb").create_table(**table(profile))
    assert made["TableDescription"]["TableArn"] == arn_of(profile)


def test_aws_cli(profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = aws_cli(HERE / "aws_cli")  # before HOME is another, because pip looks there too
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(tmp_path))  # the CLI keeps keys of roles there
    identity = heard([*command, "sts", "get-caller-identity"], HERE)
    assert identity["Arn"] == f"arn:aws:sts::111122223333:assumed-role/deploy/{profile}"
    made = heard([*command, "dynamodb", "create-table", "--cli-input-json", json.dumps(table(profile))], HERE)
    assert made["TableDescription"]["TableArn"] == arn_of(profile)


def test_javascript(profile: str) -> None:
    made = heard([node(FOLDER), "--no-warnings", "profile.mjs", json.dumps(table(profile))], FOLDER)
    assert made == {"arn": arn_of(profile), "isTemporary": True}
