"""The examples of docs/functions.md do what the page says: a declared function and mapping, and both over Lambda's API."""

from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.settings import Settings
from hashrange.testing.database import server
from tests.docs.pages import ROOT, examples_of
from tests.support.waiting import wait_until

EXAMPLES = examples_of((ROOT / "docs" / "functions.md").read_text(encoding="utf-8"))
TRIGGERS = next(one.text for one in EXAMPLES if one.language == "toml")
HANDLER, PROGRAM = (one.text for one in EXAMPLES if one.language == "python")


def create(client: Any, name: str, **members: Any) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **members,
    )


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triggers.toml").write_text(TRIGGERS)
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "orders.py").write_text(HANDLER)
    monkeypatch.chdir(tmp_path)
    with server(Settings(data_dir=None, functions=True, triggers="triggers.toml", port=0)) as database:
        client = database.client()
        create(client, "confirmations")
        create(client, "orders", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
        client.put_item(TableName="orders", Item={"id": {"S": "7"}})
        wait_until(lambda: client.scan(TableName="confirmations")["Items"])
        assert client.scan(TableName="confirmations")["Items"] == [{"id": {"S": "7"}, "status": {"S": "confirmed"}}]

        program = PROGRAM.replace("http://localhost:8000", database.endpoint)
        exec(compile(program, "docs/functions.md", "exec"), {})
        functions: Any = boto3.client(
            "lambda",
            endpoint_url=database.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        assert [one["FunctionName"] for one in functions.list_functions()["Functions"]] == ["confirm", "count"]
        invoked = functions.invoke(FunctionName="count", Payload=b'{"Records": [1, 2, 3]}')
        assert invoked["Payload"].read() == b"3"
