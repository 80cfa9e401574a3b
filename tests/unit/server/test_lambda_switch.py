"""Lambda's API is off unless the settings ask for functions, and says so;
with them, handlers and clients find the server.
"""

import io
import urllib.request
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.aws_services.operation import Caller
from hashrange.functions.description import HandlerCredentials
from hashrange.server.credentials import Credential, handler_credentials
from hashrange.settings import Settings, SettingUnusable
from hashrange.testing.database import Database, server

ROLE = "arn:aws:iam::000000000000:role/handler"


def client_of(database: Database) -> Any:
    return boto3.client(
        "lambda",
        endpoint_url=database.endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def zip_of(**files: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.py", text)
    return file.getvalue()


def create(client: Any, text: str) -> Any:
    return client.create_function(
        FunctionName="f", Runtime="python3.11", Role=ROLE, Handler="app.handle", Code={"ZipFile": zip_of(app=text)}
    )


def test_without_functions_every_operation_says_how_to_switch_them_on() -> None:
    with server(port=0) as database:
        client = client_of(database)
        calls = [
            client.list_functions,
            lambda: client.invoke(FunctionName="f"),
            client.list_event_source_mappings,
            lambda: create(client, "def handle(event, context): pass"),
        ]
        for call in calls:
            with pytest.raises(ClientError, match="Start Hashrange with --functions") as caught:
                call()
            assert caught.value.response["Error"]["Code"] == "AccessDeniedException"


def test_with_a_file_of_triggers_only_urls_can_be_functions(tmp_path: Path) -> None:
    """Nothing that a client sends makes the server run code."""
    path = tmp_path / "triggers.toml"
    path.write_text('[functions.remote]\nurl = "http://127.0.0.1:9/"\n')
    with server(Settings(data_dir=None, port=0, triggers=str(path))) as database:
        client = client_of(database)
        assert [one["FunctionName"] for one in client.list_functions()["Functions"]] == ["remote"]
        with pytest.raises(ClientError, match=r"Running functions is switched off\. Start Hashrange with --functions"):
            create(client, "def handle(event, context): pass")


def test_declared_code_needs_the_switch(tmp_path: Path) -> None:
    path = tmp_path / "triggers.toml"
    path.write_text(f'[functions.local]\ncode = "{tmp_path}"\nhandler = "a.b"\n')
    with (
        pytest.raises(
            SettingUnusable, match="the function local has code, which runs only if --functions is given too"
        ),
        server(Settings(data_dir=None, port=0, triggers=str(path))),
    ):
        pass


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("handle = 3", "Handler 'handle' is no function, but of type int"),
        ("async def handle(event, context): pass", "Handler 'handle' is a coroutine function"),
    ],
)
def test_what_cannot_be_called_is_refused_at_creation(code: str, reason: str) -> None:
    settings = Settings(data_dir=None, port=0, functions=True)
    with server(settings) as database, pytest.raises(ClientError, match=reason):
        create(client_of(database), code)


def test_a_zip_is_fetched_from_the_url_that_get_function_returns() -> None:
    code = "def handle(event, context): return 1"
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        client = client_of(database)
        create(client, code)
        url = client.get_function(FunctionName="f")["Code"]["Location"]
        with urllib.request.urlopen(url) as reply:
            assert reply.headers["Content-Type"] == "application/zip"
            fetched = reply.read()
        assert zipfile.ZipFile(io.BytesIO(fetched)).read("app.py").decode() == code
        client.update_function_code(FunctionName="f", ZipFile=zip_of(app=code + "  # changed"))
        for bad in (
            url,
            url[:-9] + "AAAAAAAA=",
            database.endpoint + "/_lambda/code/",
            url + "é".encode().decode("latin-1"),
        ):
            with pytest.raises((HTTPError, UnicodeEncodeError)) as caught:
                urllib.request.urlopen(bad)
            if isinstance(caught.value, HTTPError):
                assert caught.value.code == 403
                caught.value.close()


def test_handlers_sign_with_a_key_of_their_account_that_their_region_accepts() -> None:
    assert handler_credentials(None) is None
    credentials = [
        Credential("ending", "0", account="000000000001", expires=datetime(2027, 1, 1, tzinfo=UTC)),
        Credential("first", "1", account="000000000001", regions=("us-east-1",)),
        Credential("second", "2", account="000000000001"),
        Credential("other", "3", session_token="token", account="000000000002"),
        Credential("wide", "4", account="000000000004"),
        Credential("two", "5", account="000000000004", regions=("us-east-1", "eu-west-1")),
        Credential(
            "narrow", "6", account="000000000004", regions=("eu-west-1",), expires=datetime(2027, 1, 1, tzinfo=UTC)
        ),
    ]
    found = handler_credentials({one.access_key: one for one in credentials})
    assert found is not None
    assert found(Caller("000000000001", "us-east-1")) == HandlerCredentials("first", "1")
    assert found(Caller("000000000001", "eu-west-1")) == HandlerCredentials("second", "2")
    assert found(Caller("000000000002", "us-east-1")) == HandlerCredentials("other", "3", "token")
    # Never a key with more rights than needed: who may make a function with a narrow key must not learn a wider one.
    assert found(Caller("000000000004", "eu-west-1")) == HandlerCredentials("narrow", "6")
    assert found(Caller("000000000004", "us-east-1")) == HandlerCredentials("two", "5")
    assert found(Caller("000000000004", "eu-west-2")) == HandlerCredentials("wide", "4")
    assert found(Caller("000000000003", "us-east-1")).access_key_id not in {one.access_key for one in credentials}
