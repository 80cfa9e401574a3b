"""Who is let into the server's own S3: keys of a file, their sessions and Regions, over TLS."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.support.servers import ThreadServer
from tests.support.stores import make_store
from tests.unit.server.test_s3 import code_of

BUCKET = "photos"
TLS = Path(__file__).parents[2] / "data" / "tls"
CERTIFICATE = str(TLS / "localhost.pem")
CREDENTIALS = """
[[credential]]
access_key = "AKIAEVERYWHERE"
secret_key = "secret"

[[credential]]
access_key = "AKIAEUROPE"
secret_key = "secret"
regions = ["eu-west-1"]
"""
LONG = bytes(range(256)) * 4096 * 8


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    """A server with keys and a certificate."""
    folder = tmp_path_factory.mktemp("s3")
    (folder / "credentials.toml").write_text(CREDENTIALS)
    settings = Settings(
        port=0,
        data_dir=None,
        s3_folder=str(folder / "buckets"),
        credentials=str(folder / "credentials.toml"),
        tls_cert=CERTIFICATE,
        tls_key=str(TLS / "localhost.key"),
    )
    served = ThreadServer(make_store, ALL_OPERATIONS, settings=settings)
    client_of(served).create_bucket(Bucket=BUCKET)
    yield served
    served.stop()


def client_of(
    running: ThreadServer, key: str = "AKIAEVERYWHERE", region: str = "us-east-1", service: str = "s3", **more: Any
) -> Any:
    return boto3.client(
        service,
        endpoint_url=f"https://localhost:{running.port}",
        region_name=region,
        aws_access_key_id=key,
        verify=CERTIFICATE,
        config=Config(retries={"total_max_attempts": 1}),
        **{"aws_secret_access_key": "secret", **more},
    )


def fetched(url: str) -> tuple[int, bytes]:
    """Status and body of what is at a URL."""
    import ssl

    context = ssl.create_default_context(cafile=CERTIFICATE)
    try:
        with urllib.request.urlopen(url, context=context) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_long_objects_pass_over_tls(running: ThreadServer) -> None:
    s3 = client_of(running)
    s3.put_object(Bucket=BUCKET, Key="long", Body=LONG)
    assert s3.get_object(Bucket=BUCKET, Key="long")["Body"].read() == LONG
    assert s3.get_object(Bucket=BUCKET, Key="long", Range="bytes=-5")["Body"].read() == LONG[-5:]


def test_keys_of_a_session(running: ThreadServer) -> None:
    keys = client_of(running, service="sts").get_session_token()["Credentials"]
    given = {"aws_secret_access_key": keys["SecretAccessKey"], "aws_session_token": keys["SessionToken"]}
    s3 = client_of(running, keys["AccessKeyId"], **given)
    s3.put_object(Bucket=BUCKET, Key="by session", Body=b"content")
    members = {"Bucket": BUCKET, "Key": "by session"}
    url = s3.generate_presigned_url("get_object", Params=members)
    assert fetched(url) == (200, b"content")
    assert fetched(url.replace("by%20session", "long"))[0] == 403
    forged = client_of(running, keys["AccessKeyId"], **{**given, "aws_session_token": "nonsense"})
    assert code_of(lambda: forged.get_object(**members)) == ("InvalidAccessKeyId", 403)


def test_a_key_signs_for_its_regions_only(running: ThreadServer) -> None:
    europe = client_of(running, "AKIAEUROPE", "eu-west-1")
    europe.put_object(Bucket=BUCKET, Key="europe", Body=b"content")
    members = {"Bucket": BUCKET, "Key": "europe"}
    elsewhere = client_of(running, "AKIAEUROPE", "us-east-1")
    assert code_of(lambda: elsewhere.get_object(**members)) == ("SignatureDoesNotMatch", 403)
    older = elsewhere.generate_presigned_url("get_object", Params=members)
    assert "AWSAccessKeyId=" in older
    status, body = fetched(older)
    assert (status, b"<Code>SignatureDoesNotMatch</Code>" in body) == (403, True)


def test_a_stranger_gets_nothing(running: ThreadServer) -> None:
    stranger = client_of(running, "AKIASTRANGER")
    with pytest.raises(ClientError) as caught:
        stranger.list_buckets()
    assert caught.value.response["Error"]["Code"] == "InvalidAccessKeyId"
    assert code_of(lambda: stranger.put_object(Bucket=BUCKET, Key="x", Body=b"x")) == ("InvalidAccessKeyId", 403)
    wrong = client_of(running, aws_secret_access_key="wrong")
    for url in (
        wrong.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "long"}),
        stranger.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "long"}),
    ):
        assert fetched(url)[0] == 403
