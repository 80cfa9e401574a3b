"""How is Kinesis asked? By two operations of its API over HTTP: does a data stream exist, and take these records.

Requests are signed with the account of the data stream as access key: emulators take the account from there, and check
no signature. Source: Kinesis' service model of November 2026.
"""

import asyncio
from binascii import b2a_base64
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.errors import HashrangeError
from hashrange.functions.http_client import ExchangeFailed, RemoteReply, Unanswered, exchange, read_target
from hashrange.items.steps import spend_decoding
from hashrange.limits import KINESIS_REPLY_BYTES_MAX, KINESIS_TIMEOUT_SECONDS
from hashrange.messages import kinesis as messages
from hashrange.wire.outgoing_signature import OutgoingSigner, signed_headers

UNFIT = frozenset(("InvalidArgumentException", "ValidationException", "SerializationException"))
"""Codes of errors that a record causes itself, and will cause again."""
THROTTLED = "ProvisionedThroughputExceededException"
"""Code of the error of a record, or of a request, for which the data stream's shards have no capacity left."""
TOO_LARGE_STATUS = 413
_SECRET_KEY = "hashrange"  # noqa: S105 - emulators check no signature
_REPLY_BYTES_ERROR_SHOWN = 200


class NoAnswer(HashrangeError):
    """The endpoint gave no reply, or one that is not of Kinesis; nothing is known about the request's effect."""


class KinesisRefusal(HashrangeError):
    """Kinesis refused a whole request."""

    def __init__(self, code: str, message: str, *, is_unfit: bool) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.is_unfit = is_unfit
        """True if the content of the request is the reason, so that the same request would be refused again."""

    @property
    def is_throttling(self) -> bool:
        """True if the data stream has no capacity left."""
        return self.code == THROTTLED


class OutgoingRecord(NamedTuple):
    """A record on its way to Kinesis."""

    sequence: int
    """Sequence number of the change in its feed."""
    partition_key: str
    data: bytes


class _Result(msgspec.Struct, frozen=True):
    SequenceNumber: str | None = None
    ErrorCode: str | None = None
    ErrorMessage: str | None = None


class _PutReply(msgspec.Struct, frozen=True):
    Records: list[_Result]


class _Summary(msgspec.Struct, frozen=True):
    StreamStatus: str


class _DescribeReply(msgspec.Struct, frozen=True):
    StreamDescriptionSummary: _Summary


class _ErrorReply(msgspec.Struct, frozen=True):
    type_: str = msgspec.field(default="", name="__type")
    message: str | None = None
    Message: str | None = None


_decode_put = msgspec.json.Decoder(_PutReply).decode
_decode_description = msgspec.json.Decoder(_DescribeReply).decode
_decode_error = msgspec.json.Decoder(_ErrorReply).decode
_encode = msgspec.json.Encoder().encode
PutResult = Literal["accepted", "failed", "throttled", "unfit"]
"""What became of one record; `failed` and `throttled`: it may be accepted if it is sent again."""


class KinesisClient:
    """Asks Kinesis at one endpoint. Each request has a connection of its own."""

    def __init__(self, endpoint: str, clock: Clock) -> None:
        """`endpoint`: URL with http or https. Raises UrlUnusable for any other text."""
        self._target = read_target(endpoint)
        self._clock = clock
        self._unanswered = Unanswered(clock, KINESIS_TIMEOUT_SECONDS)

    def forget(self) -> None:
        """Forget that the endpoint has timed out, so that the next request is sent. Sends nothing itself."""
        self._unanswered.forget()

    async def describe_stream(self, stream_arn: str) -> str | None:
        """The status of a data stream, named by its ARN, such as ACTIVE; None if Kinesis says that there is none,
        or that access is denied.

        Raises NoAnswer, and KinesisRefusal for other errors. Must run in a task.
        """
        body = _encode({"StreamName": _name_in(stream_arn), "StreamARN": stream_arn})
        try:
            reply = await self._ask("DescribeStreamSummary", stream_arn, body)
        except KinesisRefusal as error:
            if error.is_unfit or error.code in ("ResourceNotFoundException", "AccessDeniedException"):
                return None
            raise
        return str(_decoded(reply, _decode_description).StreamDescriptionSummary.StreamStatus)

    async def put_records(self, stream_arn: str, body: bytes) -> RemoteReply:
        """Send the records in a body of `encode_put`; returns the reply, for `put_results`.

        Raises NoAnswer and KinesisRefusal. Must run in a task.
        """
        return await self._ask("PutRecords", stream_arn, body)

    async def _ask(self, operation: str, stream_arn: str, body: bytes) -> RemoteReply:
        """The reply to a request. For KINESIS_TIMEOUT_SECONDS after one that timed out, further ones are not sent.

        Raises NoAnswer and KinesisRefusal.
        """
        target = self._target
        silent_seconds = self._unanswered.seconds_without_answer(target.url)
        if silent_seconds is not None:
            raise NoAnswer(messages.STILL_SILENT.format(seconds=silent_seconds))
        _, _, _, region, account, _ = stream_arn.split(":")
        signer = OutgoingSigner(account, _SECRET_KEY, region, "kinesis")
        headers = {
            "Host": target.authority,
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": f"Kinesis_20131202.{operation}",
        }
        headers = signed_headers(signer, "POST", target.path, headers, body, self._clock.wall_time())
        try:
            async with asyncio.timeout(KINESIS_TIMEOUT_SECONDS):
                reply = await exchange(target, "POST", headers, body, KINESIS_REPLY_BYTES_MAX)
        except TimeoutError:
            self._unanswered.timed_out(target.url)
            raise NoAnswer(messages.TIMED_OUT.format(seconds=KINESIS_TIMEOUT_SECONDS)) from None
        except ExchangeFailed as error:
            raise NoAnswer(str(error)) from error
        self._unanswered.answered(target.url)
        if reply.status != 200:
            raise _refusal(reply)
        return reply


def encode_put(stream_arn: str, records: Sequence[OutgoingRecord]) -> bytes:
    """The body of a PutRecords. 1.5 ms per megabyte of data."""
    pieces = [
        b'{"StreamName":%b,"StreamARN":%b,"Records":' % (_encode(_name_in(stream_arn)), _encode(stream_arn)),
    ]
    mark = b"["
    for one in records:
        spend_decoding(len(one.data))
        pieces += (
            mark,
            b'{"Data":"',
            b2a_base64(one.data, newline=False),
            b'","PartitionKey":"%b"}' % one.partition_key.encode(),
        )
        mark = b","
    return b"".join((*pieces, b"]}"))


def put_results(reply: RemoteReply, count: int) -> list[PutResult]:
    """What became of each of the `count` records that were sent, in order; gives way. Raises NoAnswer."""
    spend_decoding(len(reply.body))
    results = _decoded(reply, _decode_put).Records
    if len(results) != count:
        raise NoAnswer(messages.RESULTS_MISCOUNTED.format(count=count, results=len(results)))
    return [_put_result(one) for one in results]


def _name_in(stream_arn: str) -> str:
    return stream_arn.rpartition("/")[2]


def _put_result(result: _Result) -> PutResult:
    if result.ErrorCode in UNFIT:
        return "unfit"
    if result.ErrorCode == THROTTLED:
        return "throttled"
    return "accepted" if result.ErrorCode is None and result.SequenceNumber is not None else "failed"


def _decoded(reply: RemoteReply, decode: Any) -> Any:
    """The decoded body of a reply with status 200. Raises NoAnswer for a body that Kinesis does not send."""
    try:
        return decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NoAnswer(messages.GARBAGE.format(body=_excerpt(reply))) from None


def _excerpt(reply: RemoteReply) -> str:
    return reply.body[:_REPLY_BYTES_ERROR_SHOWN].decode(errors="replace").strip()


def _refusal(reply: RemoteReply) -> KinesisRefusal:
    try:
        error = _decode_error(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        error = _ErrorReply()
    code = error.type_.rpartition("#")[2] or str(reply.status)
    message = error.message or error.Message or ("" if error.type_ else _excerpt(reply))
    is_unfit = reply.status == TOO_LARGE_STATUS or (reply.status == 400 and code in UNFIT)
    return KinesisRefusal(code, message, is_unfit=is_unfit)
