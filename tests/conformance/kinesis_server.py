"""Servers whose tables can send their changes to a Kinesis, which is a fake one, for tests of Kinesis destinations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.conformance.tables import create_request, fresh_name
from tests.support import signing
from tests.support.fake_kinesis import FakeKinesis, threaded_kinesis
from tests.support.raw_client import RawClient
from tests.support.servers import ThreadServer
from tests.support.stores import STORES
from tests.support.waiting import wait_until

ENABLE, DISABLE, UPDATE, DESCRIBE = (
    f"{verb}KinesisStreamingDestination" for verb in ("Enable", "Disable", "Update", "Describe")
)
INVALID_STATE = "Table is not in a valid state to enable Kinesis Streaming Destination: "
"""Begins messages of all operations."""
NOT_DISABLED = INVALID_STATE + (
    "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
)
NOT_ACTIVE = INVALID_STATE + "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
NO_PERMISSION = "User does not have a permission to use kinesis stream"
STREAM, OTHER = (f"arn:aws:kinesis:us-east-1:000000000000:stream/{name}" for name in ("changes", "other"))
MICROSECOND = {"ApproximateCreationDateTimePrecision": "MICROSECOND"}


class KinesisServer:
    """A running server, clients of it, and the Kinesis that it sends to,
    which has the streams `changes` and `other`.
    """

    def __init__(self, server: ThreadServer, kinesis: FakeKinesis) -> None:
        self.kinesis = kinesis
        self.raw = RawClient("127.0.0.1", server.port, signing.REGION, signing.ACCESS_KEY, signing.SECRET_KEY)
        self.client = boto3.client(
            "dynamodb",
            endpoint_url=server.endpoint,
            region_name=signing.REGION,
            aws_access_key_id=signing.ACCESS_KEY,
            aws_secret_access_key=signing.SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
        )

    def table(self) -> str:
        """Name of a new table."""
        name = fresh_name()
        self.client.create_table(**create_request(name))
        return name

    def enabled(self, stream_arn: str = STREAM, **configuration: str) -> str:
        """Name of a new table with an ACTIVE destination."""
        name = self.table()
        self.enable(name, stream_arn, **configuration)
        return name

    def enable(self, name: str, stream_arn: str = STREAM, **configuration: str) -> None:
        """Enable a destination, and wait until it is no longer ENABLING."""
        request: dict[str, Any] = {"TableName": name, "StreamArn": stream_arn}
        if configuration:
            request["EnableKinesisStreamingConfiguration"] = configuration
        self.client.enable_kinesis_streaming_destination(**request)
        wait_until(lambda: "ENABLING" not in [one["DestinationStatus"] for one in self.destinations(name)])

    def destinations(self, name: str) -> list[dict[str, Any]]:
        """The destinations that are described, newest first."""
        reply = self.raw(DESCRIBE, {"TableName": name}).json()
        assert reply["TableName"] == name
        found: list[dict[str, Any]] = reply["KinesisDataStreamDestinations"]
        return found


@contextmanager
def kinesis_server(store: str) -> Iterator[KinesisServer]:
    """Run one over a kind of store."""
    with threaded_kinesis("changes", "other") as kinesis:
        settings = Settings(port=0, data_dir=None, kinesis_endpoint=kinesis.url)
        server = ThreadServer(STORES[store], ALL_OPERATIONS, settings=settings)
        running = KinesisServer(server, kinesis)
        try:
            yield running
        finally:
            running.client.close()
            server.stop()
