"""Who a caller is, and which tables the keys of a session reach, if every access key is let in."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.sts.conftest import ClientFor

ROLE = "arn:aws:iam::111122223333:role/teams/shop/deploy"
SESSION: dict[str, Any] = {"RoleArn": ROLE, "RoleSessionName": "anna@example.com"}


def identity(client: Any) -> dict[str, str]:
    reply = client.get_caller_identity()
    del reply["ResponseMetadata"]
    return dict(reply)


def root(account: str) -> dict[str, str]:
    return {"Account": account, "UserId": account, "Arn": f"arn:aws:iam::{account}:root"}


def code(error: pytest.ExceptionInfo[ClientError]) -> tuple[int, str, str]:
    reply = error.value.response
    return reply["ResponseMetadata"]["HTTPStatusCode"], reply["Error"]["Code"], reply["Error"]["Message"]


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1", "cn-north-1", "aws-global"])
def test_a_key_is_its_account(client_for: ClientFor, region: str) -> None:
    assert identity(client_for("sts", region=region)) == root("000000000000")
    assert identity(client_for("sts", "444455556666", region)) == root("444455556666")


def test_the_session_of_a_role_is_known_by_its_keys(client_for: ClientFor, sts: Any) -> None:
    reply = sts.assume_role(**SESSION)
    user = reply["AssumedRoleUser"]
    assert user["Arn"] == "arn:aws:sts::111122223333:assumed-role/deploy/anna@example.com"
    assert "PackedPolicySize" not in reply
    assert "SourceIdentity" not in reply
    assert identity(client_for("sts", reply["Credentials"])) == {
        "Account": "111122223333",
        "UserId": user["AssumedRoleId"],
        "Arn": user["Arn"],
    }
    role_id, _, name = user["AssumedRoleId"].partition(":")
    assert (role_id[:4], len(role_id), name) == ("AROA", 21, "anna@example.com")
    again = sts.assume_role(RoleArn=ROLE, RoleSessionName="ben")
    assert again["AssumedRoleUser"]["AssumedRoleId"] == f"{role_id}:ben", "a role has one id"
    other = sts.assume_role(RoleArn=ROLE + "2", RoleSessionName="ben")
    assert other["AssumedRoleUser"]["AssumedRoleId"] != f"{role_id}:ben"
    assert other["Credentials"]["SecretAccessKey"] != again["Credentials"]["SecretAccessKey"]


def test_the_keys_look_like_the_service_s(sts: Any, database: Database) -> None:
    keys = sts.assume_role(**SESSION, DurationSeconds=900)["Credentials"]
    assert keys["AccessKeyId"].startswith("ASIA")
    assert (len(keys["AccessKeyId"]), len(keys["SecretAccessKey"])) == (20, 40)
    left = keys["Expiration"] - datetime.fromtimestamp(database.clock.now(), UTC)
    assert 890 < left.total_seconds() <= 900
    longer = sts.assume_role(**SESSION, MinimumSessionTokenSize=4096)["Credentials"]["SessionToken"]
    assert len(keys["SessionToken"]) < 1_000
    assert 4_096 <= len(longer) < 4_200


def test_a_profile_assumes_a_role_while_service_time_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SDKs compare the keys' end with the clock of their machine, and refuse keys that have ended."""
    profile = "[profile deploy]\nregion = eu-west-1\nsource_profile = own\nrole_arn = " + ROLE
    keys = "\n[profile own]\naws_access_key_id = any\naws_secret_access_key = any\n"
    (tmp_path / "config").write_text(profile + keys, encoding="utf-8")
    for variable in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    with server(Settings(data_dir=None, port=0, clock_behind_seconds=172_800)) as database:
        monkeypatch.setenv("AWS_ENDPOINT_URL", database.endpoint)
        client = boto3.Session(profile_name="deploy").client("dynamodb")
        assert client.list_tables()["TableNames"] == []


def test_the_keys_of_a_session_reach_the_role_s_tables(client_for: ClientFor, sts: Any) -> None:
    keys = sts.assume_role(**SESSION, MinimumSessionTokenSize=4096)["Credentials"]
    tables = client_for("dynamodb", keys)
    tables.create_table(
        TableName="shop",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    arn = tables.describe_table(TableName="shop")["Table"]["TableArn"]
    assert arn == "arn:aws:dynamodb:eu-west-1:111122223333:table/shop"
    assert client_for("dynamodb", "111122223333").list_tables()["TableNames"] == ["shop"]
    assert client_for("dynamodb").list_tables()["TableNames"] == []
    alarms = client_for("cloudwatch", keys)
    alarms.put_metric_data(Namespace="shop", MetricData=[{"MetricName": "Orders", "Value": 1.0}])
    assert alarms.list_metrics(Namespace="shop")["Metrics"]
    assert not client_for("cloudwatch").list_metrics(Namespace="shop")["Metrics"]


def test_sessions_of_sessions(client_for: ClientFor, sts: Any) -> None:
    first = sts.assume_role(**SESSION, SourceIdentity="anna", DurationSeconds=43_200)
    assert first["SourceIdentity"] == "anna"
    chained = client_for("sts", first["Credentials"])
    role = {"RoleArn": "arn:aws-cn:iam::999900001111:role/read", "RoleSessionName": "next"}
    second = chained.assume_role(**role)
    assert second["SourceIdentity"] == "anna", "a source identity stays"
    assert second["AssumedRoleUser"]["Arn"] == "arn:aws-cn:sts::999900001111:assumed-role/read/next"
    assert identity(client_for("sts", second["Credentials"]))["Account"] == "999900001111"
    assert chained.assume_role(**role, SourceIdentity="anna")["SourceIdentity"] == "anna"
    with pytest.raises(ClientError) as refused:
        chained.assume_role(**role, SourceIdentity="ben")
    assert code(refused) == (
        403,
        "AccessDenied",
        (
            "User: arn:aws:sts::111122223333:assumed-role/deploy/anna@example.com is not authorized to perform:"
            " sts:SetSourceIdentity on resource: arn:aws-cn:iam::999900001111:role/read"
        ),
    )
    with pytest.raises(ClientError) as refused:
        chained.assume_role(**role, DurationSeconds=3_601)
    assert code(refused) == (
        400,
        "ValidationError",
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
    )


def test_a_session_token_without_a_role_is_its_caller(client_for: ClientFor) -> None:
    own = client_for("sts", "444455556666")
    keys = own.get_session_token(DurationSeconds=129_600, SerialNumber="GAHT12345678", TokenCode="123456")[
        "Credentials"
    ]
    session = client_for("sts", keys)
    assert identity(session) == root("444455556666")
    assert session.assume_role(**SESSION, DurationSeconds=43_200)["Credentials"], "this is no chain of roles"
    with pytest.raises(ClientError) as refused:
        session.get_session_token()
    assert code(refused) == (403, "AccessDenied", "Cannot call GetSessionToken with session credentials")


def test_the_account_of_an_access_key(sts: Any) -> None:
    session = sts.assume_role(**SESSION)["Credentials"]["AccessKeyId"]
    for key, account in ((session, "111122223333"), ("AKIAIOSFODNN7EXAMPLE", "000000000000")):
        assert sts.get_access_key_info(AccessKeyId=key)["Account"] == account


@pytest.mark.parametrize("token", ["", "x", "AAAA", "é", "A" * 6_000, "!" * 100, "====", "W10", "IQoJb3JpZ2luX2VjEA=="])
def test_tokens_of_others_mean_nothing(client_for: ClientFor, token: str) -> None:
    keys = {"AccessKeyId": "ASIAIOSFODNN7EXAMPLE", "SecretAccessKey": "secret", "SessionToken": token}
    assert identity(client_for("sts", keys)) == root("000000000000")


def test_a_token_belongs_to_its_access_key(client_for: ClientFor, sts: Any) -> None:
    keys = dict(sts.assume_role(**SESSION)["Credentials"])
    assert identity(client_for("sts", keys | {"AccessKeyId": "444455556666"})) == root("444455556666")
    first = keys["SessionToken"][0]
    changed = ("A" if first != "A" else "B") + keys["SessionToken"][1:]
    assert identity(client_for("sts", keys | {"SessionToken": changed})) == root("111122223333")
