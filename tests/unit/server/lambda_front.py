"""A front end without sockets that speaks Lambda's protocol, with operations of its own or real ones,
and botocore clients of it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import boto3
import msgspec
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from hashrange.aws_services.operation import Caller, Operation, bound
from hashrange.functions.api.operation import LambdaError, LambdaReply, RestWire
from hashrange.server.front import Front
from hashrange.server.misdirected_clients import OtherServiceHint
from hashrange.server.protocols.other_services import LAMBDA_SIGNING_NAME
from hashrange.server.protocols.rest_json.protocol import LambdaProtocol
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY, sign
from tests.support.waiting import until
from tests.unit.server.harness import FrontEnd, Parsed, as_bytes, reply


class EnvironmentMembers(msgspec.Struct, frozen=True, kw_only=True):
    """A structure inside a request."""

    Variables: dict[str, str] | None = None


class CodeMembers(msgspec.Struct, frozen=True, kw_only=True):
    """A structure with bytes."""

    ZipFile: bytes | None = None
    S3Bucket: str | None = None


class CreateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the members of CreateFunction."""

    FunctionName: str
    Code: CodeMembers | None = None
    MemorySize: int | None = msgspec.field(default=None)
    Publish: bool | None = None
    Environment: EnvironmentMembers | None = None
    Tags: dict[str, str] | None = None


class GetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The members of GetFunction."""

    FunctionName: str
    Qualifier: str | None = None


class ListRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the members of ListFunctions."""

    Marker: str | None = None
    MaxItems: int | None = None


class UntagRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The members of UntagResource."""

    Resource: str
    TagKeys: list[str]


class InvokeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the members of Invoke."""

    FunctionName: str
    InvocationType: str | None = None
    Qualifier: str | None = None
    Payload: bytes = b""


class Works:
    """What the operations of this file work on: it records their calls,
    and tells them what to raise, or to wait for.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Caller, Any]] = []
        self.error: BaseException | None = None
        self.outcome: Mapping[str, Any] | LambdaReply | None = {"Answer": 1}
        self.gate: asyncio.Event | None = None
        self.ended = 0


async def work(works: Works, caller: Caller, request: Any) -> Mapping[str, Any] | LambdaReply | None:
    """Record the call, and do as told."""
    works.calls.append((caller, request))
    if works.gate is not None:
        await works.gate.wait()
    works.ended += 1
    if works.error is not None:
        raise works.error
    return works.outcome


OPERATIONS = (
    Operation("CreateFunction", CreateRequest, work, RestWire("POST", "/2015-03-31/functions", status=201)),
    Operation(
        "GetFunction",
        GetRequest,
        work,
        RestWire("GET", "/2015-03-31/functions/{FunctionName}", query={"Qualifier": "Qualifier"}),
    ),
    Operation(
        "ListFunctions",
        ListRequest,
        work,
        RestWire("GET", "/2015-03-31/functions", query={"Marker": "Marker", "MaxItems": "MaxItems"}),
    ),
    Operation(
        "UntagResource",
        UntagRequest,
        work,
        RestWire("DELETE", "/2017-03-31/tags/{Resource}", status=204, query={"tagKeys": "TagKeys"}),
    ),
    Operation(
        "Invoke",
        InvokeRequest,
        work,
        RestWire(
            "POST",
            "/2015-03-31/functions/{FunctionName}/invocations",
            query={"Qualifier": "Qualifier"},
            headers={"x-amz-invocation-type": "InvocationType"},
            raw_body="Payload",
        ),
    ),
)


class LambdaFrontEnd(FrontEnd):
    """Connections and a service whose front asks Lambda's protocol first."""

    def __init__(self, served: list[Operation[RestWire]] | None = None, **arguments: Any) -> None:
        self.works = Works()
        self._served = bound(OPERATIONS, self.works) if served is None else served
        super().__init__(**arguments)

    def front(self) -> Front:
        """A front over the service that also speaks Lambda's protocol."""
        others = super().front()
        hint = OtherServiceHint(["dynamodb", LAMBDA_SIGNING_NAME])
        self.protocol = LambdaProtocol(self._served, self.access, self.service, hint)
        return Front(self.service, [self.protocol, *others.protocols], others.gate, others.clients)

    def signed(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, **signing: Any
    ) -> bytes:
        """A request signed for Lambda as bytes; without a credentials file, its signature is not compared."""
        complete = {"Host": "localhost:8000", "Content-Length": str(len(body)), **(headers or {})}
        signing = {"seconds": self.clock.wall_time(), "service": LAMBDA_SIGNING_NAME, **signing}
        return as_bytes(sign(complete, body, method=method, **signing), body, f"{method} {path} HTTP/1.1")

    def answer(self, data: bytes) -> Parsed:
        """The reply to these bytes, which are one request."""
        return reply(asyncio.run(self.until_answered(data)))

    def call(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Parsed:
        """The reply to a signed request."""
        return self.answer(self.signed(method, path, body, headers))

    async def until_answered(self, data: bytes) -> bytes:
        """The bytes that a new client gets for these, as soon as there are any."""
        connection, transport = self.connect()
        connection.data_received(data)
        await until(lambda: transport.written)
        connection.connection_lost(None)
        return transport.take()

    def client(self, region: str = REGION, access_key: str = ACCESS_KEY, secret_key: str = SECRET_KEY) -> Any:
        """A boto3 client of Lambda whose requests this front end answers; it does not retry."""
        made = boto3.client(
            "lambda",
            endpoint_url="http://localhost:8000",
            region_name=region,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
        )
        made.meta.events.register("before-send.lambda", self._answer_botocore)
        return made

    def _answer_botocore(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        parts = urlsplit(request.url)
        url = parts.path + (f"?{parts.query}" if parts.query else "")
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else bytes(body)
        headers = {
            name: value.decode() if isinstance(value, bytes) else str(value) for name, value in request.headers.items()
        }
        complete = {"Host": parts.netloc, "Content-Length": str(len(body)), **headers}
        answer = self.answer(as_bytes(complete, body, f"{request.method} {url} HTTP/1.1"))
        return AWSResponse(request.url, answer.status, answer.headers, _Raw(answer.body))


class _Raw:
    """A reply's body, with the part of urllib3's response interface that botocore uses."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: Any) -> Any:
        yield self._body

    def read(self, _size: int | None = None) -> bytes:
        body, self._body = self._body, b""
        return body


def refusal(status: int, code: str, message: str, **members: Any) -> LambdaError:
    """An error for an operation to raise."""
    return LambdaError(status, code, message, **members)
