"""Hosts of an account, as SDKs make them for DynamoDB and its streams: all of AWS's names are accepted,
and the credentials say whose data is asked for.
"""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.support.raw_client import RawClient
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.stores import make_store

ACCOUNT, OTHER = "111122223333", "444455556666"
PARTITIONS = json.loads((Path(botocore.__file__).parent / "data/partitions.json").read_text())["partitions"]
SUFFIXES = sorted({one["outputs"][name] for one in PARTITIONS for name in ("dnsSuffix", "dualStackDnsSuffix")})
CREDENTIALS = f'[[credential]]\naccess_key = "{ACCESS_KEY}"\nsecret_key = "{SECRET_KEY}"\naccount = "{ACCOUNT}"\n'


class Body:
    """The content of a reply, as botocore reads it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._content


class Clients:
    """Clients that resolve the host themselves; their requests are sent to a server on the loopback with that Host."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.hosts: list[str] = []
        """The hosts that were asked."""

    def client(self, service: str, account: str | None = ACCOUNT, access_key: str = ACCESS_KEY, **options: Any) -> Any:
        mode = options.pop("mode", "required" if account else "preferred")
        client = get_session().create_client(
            service,
            region_name=REGION,
            aws_access_key_id=access_key,
            aws_secret_access_key=SECRET_KEY,
            aws_account_id=account,
            config=Config(account_id_endpoint_mode=mode, **options),
        )
        client.meta.events.register("before-send", self._send)
        return client

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        host = str(urlsplit(request.url).hostname)
        self.hosts.append(host)
        headers = {
            name: value.decode() if isinstance(value, bytes) else str(value) for name, value in request.headers.items()
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("POST", "/", request.body, headers | {"Host": host})
            answer = connection.getresponse()
            content = answer.read()
            return AWSResponse(request.url, answer.status, dict(answer.getheaders()), Body(content))
        finally:
            connection.close()


@pytest.fixture(scope="module")
def loopback() -> Iterator[ThreadServer]:
    """A server without a credentials file, which accepts only the names of its machine and of AWS."""
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=Settings(port=0, data_dir=None))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    """A server that checks signatures, of which the host is a part."""
    path = tmp_path_factory.mktemp("credentials") / "credentials.toml"
    path.write_text(CREDENTIALS)
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=Settings(port=0, data_dir=None, credentials=str(path)))
    yield running
    running.stop()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_of_all_partitions_are_accepted(loopback: ThreadServer, suffix: str) -> None:
    client = RawClient("127.0.0.1", loopback.port)
    hosts = ["dynamodb", f"{ACCOUNT}.ddb", "streams.dynamodb", "streams-dynamodb", f"{ACCOUNT}.streams-ddb"]
    for name in (*hosts, "search-dynamodb", f"{ACCOUNT}.search-ddb"):
        assert client("ListTables", {}, {"Host": f"{name}.{REGION}.{suffix}"}).status == 200
    for host in (f"{suffix}.evil.example", f"evil{suffix}"):
        assert client("ListTables", {}, {"Host": host}).status == 400


def test_streams_are_read_at_the_accounts_host(strict: ThreadServer) -> None:
    clients = Clients(strict.port)
    table = clients.client("dynamodb").create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )["TableDescription"]
    arn = table["LatestStreamArn"]
    assert arn.split(":")[4] == ACCOUNT
    assert clients.hosts == [f"{ACCOUNT}.ddb.{REGION}.amazonaws.com"]
    clients.client("dynamodb").put_item(TableName="orders", Item={"pk": {"S": "a"}})
    for is_dual_stack, is_fips in ((False, False), (True, False), (False, True)):
        clients.hosts.clear()
        streams = clients.client("dynamodbstreams", use_dualstack_endpoint=is_dual_stack, use_fips_endpoint=is_fips)
        assert [one["StreamArn"] for one in streams.list_streams()["Streams"]] == [arn]
        records = []
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = streams.get_shard_iterator(**place)["ShardIterator"]
            records += streams.get_records(ShardIterator=iterator)["Records"]
        assert len(records) == 1
        (host,) = set(clients.hosts)
        assert host.startswith(f"{ACCOUNT}.streams-ddb")


@pytest.mark.parametrize(("account", "start"), [(ACCOUNT, f"{ACCOUNT}.search-ddb."), (None, "search-dynamodb.")])
def test_vectors_are_searched_at_hosts_of_their_own(strict: ThreadServer, account: str | None, start: str) -> None:
    clients = Clients(strict.port)
    for is_dual_stack in (False, True):
        clients.hosts.clear()
        dynamodb = clients.client("dynamodb", account=account, use_dualstack_endpoint=is_dual_stack)
        wanted = {"TableName": "no-such-table", "IndexName": "vix", "SearchVector": [{"N": "1"}], "TopK": 1}
        with pytest.raises(ClientError) as caught:
            dynamodb.search_vectors(**wanted)
        assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"
        (host,) = set(clients.hosts)
        assert host.startswith(f"{start}{REGION}.")


def test_the_host_follows_the_stream_before_the_credentials(strict: ThreadServer) -> None:
    """An iterator begins with its stream's ARN, from which SDKs take the account as they do from StreamArn."""
    clients = Clients(strict.port)
    streams = clients.client("dynamodbstreams", account=None)
    arn = f"arn:aws:dynamodb:{REGION}:{OTHER}:table/orders/stream/2026-11-21T00:00:00.000"
    missing = "ResourceNotFoundException"
    for call, members in (
        (streams.describe_stream, {"StreamArn": arn}),
        (streams.get_shard_iterator, {"StreamArn": arn, "ShardId": "shardId-x" * 4, "ShardIteratorType": "LATEST"}),
        (streams.get_records, {"ShardIterator": f"{arn}|1|AAAA"}),
    ):
        clients.hosts.clear()
        with pytest.raises(ClientError) as caught:
            call(**members)
        code = caught.value.response["Error"]["Code"]
        assert code == ("ValidationException" if "ShardIterator" in members else missing)
        assert clients.hosts == [f"{OTHER}.streams-ddb.{REGION}.amazonaws.com"]


def test_the_credentials_say_whose_data_is_asked_for(loopback: ThreadServer) -> None:
    """Without a credentials file a key of 12 digits is an account; the host changes nothing."""
    clients = Clients(loopback.port)
    own = clients.client("dynamodb", access_key=ACCOUNT, retries={"total_max_attempts": 1})
    own.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    at_other_host = clients.client("dynamodb", account=OTHER, access_key=ACCOUNT)
    assert at_other_host.list_tables()["TableNames"] == ["orders"]
    assert clients.hosts[-1] == f"{OTHER}.ddb.{REGION}.amazonaws.com"
    assert clients.client("dynamodb", access_key=OTHER).list_tables()["TableNames"] == []
