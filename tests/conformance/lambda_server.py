"""Servers with Lambda's API for tests of event source mappings: declared functions, tables with streams,
and boto3 clients of both services.
"""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.aws_services.operation import bound
from hashrange.functions.api.registry import OPERATIONS as FUNCTION_OPERATIONS
from hashrange.functions.declaration import FunctionDeclaration
from hashrange.functions.functions import Functions
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.server.misdirected_clients import OtherServiceHint
from hashrange.server.protocols.rest_json.protocol import LambdaProtocol
from hashrange.triggers.api.registry import OPERATIONS as MAPPING_OPERATIONS
from hashrange.triggers.destinations import read_destinations
from hashrange.triggers.triggers import Triggers
from tests.conformance.tables import create_request, fresh_name
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.stores import STORES

ACCOUNT = "000000000000"
FUNCTIONS = ("first", "second", "third")
"""Declared functions. Nothing answers at their URLs, because no test invokes them."""


DESTINATIONS = (
    "arn:aws:sqs:us-east-1:000000000000:failures",
    "arn:aws:sns:us-east-1:000000000000:topic",
    "arn:aws:s3:::bucket-1.x",
)
"""Failure destinations that the server knows."""


class LambdaServer:
    """A running server with Lambda's API, and clients of it without retries and parameter validation."""

    def __init__(self, store: str) -> None:
        self._server = ThreadServer(STORES[store], ALL_OPERATIONS)
        self._server.call(self._serve_lambda)
        self.mappings = self.client("lambda")
        self.tables = self.client("dynamodb")

    def _serve_lambda(self) -> None:
        server = self._server
        functions = Functions(server.store.documents, server.clock)
        for name in FUNCTIONS:
            functions.declare(name, FunctionDeclaration(url="http://127.0.0.1:9/"))
        places = {arn: {"http": "http://127.0.0.1:9/"} for arn in DESTINATIONS}
        triggers = Triggers(server.store, server.clock, functions, read_destinations(places))
        operations = bound(FUNCTION_OPERATIONS, functions) + bound(MAPPING_OPERATIONS, triggers)
        protocol = LambdaProtocol(
            operations, server.server.access, server.service, OtherServiceHint(["dynamodb", "lambda"])
        )
        protocols: Any = server.server.front.protocols
        protocols.insert(0, protocol)

    def client(self, service: str, region: str = REGION, access_key: str = ACCESS_KEY) -> Any:
        """A boto3 client of this server."""
        return boto3.client(
            service,
            endpoint_url=self._server.endpoint,
            region_name=region,
            aws_access_key_id=access_key,
            aws_secret_access_key=SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
        )

    def stop(self) -> None:
        """End the server."""
        self.mappings.close()
        self.tables.close()
        self._server.stop()

    def make_stream(self) -> str:
        """The ARN of the stream of a new table."""
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        made = self.tables.create_table(**create_request(fresh_name("source"), StreamSpecification=stream))
        return str(made["TableDescription"]["LatestStreamArn"])

    def create(self, **members: Any) -> Any:
        """The reply to CreateEventSourceMapping for a new stream; None leaves a member out."""
        request = {"FunctionName": "first", "StartingPosition": "LATEST"} | members
        if "EventSourceArn" not in request:
            request["EventSourceArn"] = self.make_stream()
        given = {name: member for name, member in request.items() if member is not None}
        return without_metadata(self.mappings.create_event_source_mapping(**given))

    def get(self, uuid: str) -> Any:
        """The reply to GetEventSourceMapping."""
        return without_metadata(self.mappings.get_event_source_mapping(UUID=uuid))

    def update(self, uuid: str, **members: Any) -> Any:
        """The reply to UpdateEventSourceMapping."""
        return without_metadata(self.mappings.update_event_source_mapping(UUID=uuid, **members))

    def delete(self, uuid: str) -> Any:
        """The reply to DeleteEventSourceMapping."""
        return without_metadata(self.mappings.delete_event_source_mapping(UUID=uuid))


def without_metadata(reply: Any) -> Any:
    """A reply without botocore's own member, which has the status."""
    return {name: member for name, member in reply.items() if name != "ResponseMetadata"}


def refusal_of(error: ClientError) -> tuple[int, str, str]:
    """Status, code and message of an error."""
    told: Any = error.response
    return told["ResponseMetadata"]["HTTPStatusCode"], told["Error"]["Code"], told["Error"]["Message"]


def function_arn(name: str, region: str = REGION, account: str = ACCOUNT) -> str:
    """ARN of a function."""
    return f"arn:aws:lambda:{region}:{account}:function:{name}"
