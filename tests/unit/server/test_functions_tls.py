"""A handler reaches a server that has a certificate of its own, and is told where its files
are in the usual variables.
"""

import io
import json
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.servers import ThreadServer

TLS = Path(__file__).parents[2] / "data" / "tls"
CERTIFICATE = str(TLS / "localhost.pem")
CODE = {
    "app.py": """
import boto3, os
def handler(event, context):
    count = boto3.client("dynamodb").list_tables()["TableNames"]
    return [count, os.environ["AWS_ENDPOINT_URL_DYNAMODB"], os.environ["AWS_CA_BUNDLE"]]
def bundle(event, context):
    return os.environ["AWS_CA_BUNDLE"]
""",
    "index.mjs": """
export const handler = async () => {
  const reply = await fetch(process.env.AWS_ENDPOINT_URL_DYNAMODB);
  return [reply.status, process.env.AWS_ENDPOINT_URL_DYNAMODB, process.env.NODE_EXTRA_CA_CERTS];
};
""",
}
PYTHON = f"python3.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of Lambda, of a server whose certificate nobody but itself has signed. Its handlers run under this
    process's Python, which has boto3.
    """
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    settings = Settings(data_dir=None, port=0, functions=True, tls_cert=CERTIFICATE, tls_key=str(TLS / "localhost.key"))
    served = ThreadServer(lambda: open_store(None, SystemClock(), None), ALL_OPERATIONS, settings=settings)
    made = boto3.client(
        "lambda",
        endpoint_url=served.endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        verify=CERTIFICATE,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        yield made
    made.close()
    served.stop()


def invoked(client: Any, name: str, runtime: str, handler: str, **members: Any) -> Any:
    """What a new function returns."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in CODE.items():
            archive.writestr(path, text)
    client.create_function(
        FunctionName=name,
        Runtime=runtime,
        Role="arn:aws:iam::000000000000:role/handler",
        Handler=handler,
        Code={"ZipFile": packed.getvalue()},
        Timeout=60,
        **members,
    )
    return json.load(client.invoke(FunctionName=name)["Payload"])


def test_a_python_handler(client: Any) -> None:
    assert invoked(client, "python", PYTHON, "app.handler") == [[], client.meta.endpoint_url, CERTIFICATE]


@pytest.mark.needs("node")
def test_a_node_handler(client: Any) -> None:
    assert invoked(client, "node", "nodejs20.x", "index.handler") == [200, client.meta.endpoint_url, CERTIFICATE]


def test_variables_of_the_function_are_kept(client: Any) -> None:
    own = {"Variables": {"AWS_CA_BUNDLE": "/own/bundle.pem"}}
    assert invoked(client, "own", PYTHON, "app.bundle", Environment=own) == "/own/bundle.pem"
