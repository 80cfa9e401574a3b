"""Where do messages about discarded batches go, and how do they get there? The table `[destinations]` of the file of
triggers maps ARNs to endpoints, URLs, files and folders.

    [destinations]
    "arn:aws:sqs:eu-west-1:000000000000:failed" = { sqs = "http://127.0.0.1:9324/000000000000/failed" }
    "arn:aws:sns:eu-west-1:000000000000:failed" = { sns = "http://127.0.0.1:9911" }
    "arn:aws:s3:::failed" = { s3 = "http://127.0.0.1:9000/failed", access_key = "…", secret_key = "…" }
    "arn:aws:s3:::failed-too" = { folder = "./failed" }

Any ARN may have `http`, a URL, or `file`, which gets lines of JSON.
Requests to SQS, SNS and S3 are signed with `access_key` and `secret_key`, by default `test` and `test`, for the Region
of the ARN or, as buckets' ARNs have none, of the stream.
"""

import asyncio
import os
import re
import secrets
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from hashrange.clock import SystemClock
from hashrange.errors import HashrangeError
from hashrange.functions.http_client import (
    ExchangeFailed,
    HttpTarget,
    ReplyTooLarge,
    UrlUnusable,
    exchange,
    read_target,
)
from hashrange.limits import DELIVERY_REPLY_BYTES_MAX
from hashrange.messages import destinations as messages
from hashrange.settings import SettingUnusable
from hashrange.store.embedded.files import sync_folder
from hashrange.triggers.failure_message import FailureMessage, encode_failure, region_of
from hashrange.wire.outgoing_signature import OutgoingSigner, signed_headers
from hashrange.written.values import fault_in


class DeliveryFailed(HashrangeError):
    """A message was not delivered, or it is not known to be; the caller tries again.
    The message is for the operator.
    """


class PlaceUnusable(HashrangeError):
    """Messages cannot be delivered to a place; the message says why, and how to solve the problem."""


Destination = Callable[[FailureMessage], Coroutine[Any, Any, None]]
"""Delivers a message to where those of one ARN go; on return it is there, whatever happens to this process.

Raises DeliveryFailed. Has no time-out. If it is cancelled, or raises, the message may have been delivered all the same.
"""


# --- endpoints and URLs ---------------------------------------------------------------------------

# One request over HTTP; any status from 200 to 299 says that the message was taken. Queues get SendMessage in SQS's
# JSON protocol, topics Publish in SNS's Query protocol, buckets an object by its path. These requests are signed at the
# machine's own time, because the receiver compares their date with its clock, whatever service time is.
# Source: service models of SQS, SNS and S3 of November 2026.

_JSON = "application/json"


async def send_to_queue(target: HttpTarget, queue_url: str, signer: OutgoingSigner, message: FailureMessage) -> None:
    """Send the document to an SQS queue as the body of a message. `target`: the endpoint, not the queue's own path."""
    document = encode_failure(message, has_event=False).decode()
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessage"}
    body = msgspec.json.encode({"QueueUrl": queue_url, "MessageBody": document})
    await _send(target, "POST", _sign(signer, target, "POST", headers, body), body)


async def send_to_topic(target: HttpTarget, topic_arn: str, signer: OutgoingSigner, message: FailureMessage) -> None:
    """Publish the document in an SNS topic."""
    document = encode_failure(message, has_event=False).decode()
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    members = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": topic_arn, "Message": document}
    body = urlencode(members).encode()
    await _send(target, "POST", _sign(signer, target, "POST", headers, body), body)


async def send_to_bucket(bucket: HttpTarget, access_key: str, secret_key: str, message: FailureMessage) -> None:
    """Put an object with the document and the event into an S3 bucket, or a folder of one. `bucket`: where it is;
    its path has no slash at the end.
    """
    target = bucket._replace(path=f"{bucket.path}/{message.object_key}")
    signer = OutgoingSigner(access_key, secret_key, region_of(message), "s3")

    def encoded() -> tuple[Mapping[str, str], bytes]:
        """Headers and body; takes some 40 ms with an event of 6 MB."""
        body = encode_failure(message, has_event=True)
        return _sign(signer, target, "PUT", {"Content-Type": _JSON}, body), body

    headers, body = await asyncio.to_thread(encoded)
    await _send(target, "PUT", headers, body)


async def send_to_url(target: HttpTarget, message: FailureMessage, *, has_event: bool) -> None:
    """Post the document to any URL, which gets what the service of the ARN would get; only messages for a bucket hold
    the event.
    """
    body = await asyncio.to_thread(encode_failure, message, has_event=has_event)
    await _send(target, "POST", {"Content-Type": _JSON}, body)


def _sign(
    signer: OutgoingSigner, target: HttpTarget, method: str, headers: Mapping[str, str], body: bytes
) -> Mapping[str, str]:
    named = {"Host": target.authority, **headers}
    return signed_headers(signer, method, target.path, named, body, SystemClock.wall_time())


async def _send(target: HttpTarget, method: str, headers: Mapping[str, str], body: bytes) -> None:
    """Send a request. Raises DeliveryFailed unless the reply's status says that it succeeded."""
    excerpt = b""
    try:
        reply = await exchange(target, method, headers, body, DELIVERY_REPLY_BYTES_MAX)
        status, excerpt = reply.status, reply.body
    except ReplyTooLarge as error:  # the status counts all the same: another try would get the same reply
        if error.status is None:
            raise DeliveryFailed(messages.NOT_REACHED.format(url=target.url, reason=error)) from None
        status = error.status
    except ExchangeFailed as error:
        raise DeliveryFailed(messages.NOT_REACHED.format(url=target.url, reason=error)) from None
    if not 200 <= status < 300:
        raise DeliveryFailed(messages.refused(target.url, status, excerpt.decode(errors="replace")))


# --- files and folders ----------------------------------------------------------------------------

# A message is a synced line of JSON, or a synced object that appears at once, complete. A delivery that was not
# confirmed, because the disk was full or the server was killed, may leave a part of a line, which the next message does
# not continue, or a file `….unfinished` that nothing reads.

_appending = threading.Lock()
"""Held while a line is appended: several ARNs, and forks of the database, may have the same file."""


def file_destination(path: str, *, has_event: bool) -> Destination:
    """A file of JSON lines, relative to the working directory; made with the first message. `has_event`: lines have the
    event, as the objects of a bucket have.

    Raises PlaceUnusable if it is a folder, or the folder that is to hold it is missing.
    """
    absolute = _absolute(path, os.path.isfile, messages.NO_FILE)
    return partial(write_to_disk, partial(append_message, has_event=has_event), absolute)


def folder_destination(path: str) -> Destination:
    """A folder that stands for a bucket, with a file for each object, relative to the working directory; made with the
    first message.

    Raises PlaceUnusable if it is a file, or the folder that is to hold it is missing.
    """
    return partial(write_to_disk, write_object, _absolute(path, os.path.isdir, messages.NO_FOLDER))


async def write_to_disk(write: Callable[[str, FailureMessage], None], path: str, message: FailureMessage) -> None:
    """Write a message on a thread. Raises DeliveryFailed."""
    try:
        await asyncio.to_thread(write, path, message)
    except OSError as error:
        raise DeliveryFailed(messages.NOT_WRITTEN.format(path=path, reason=error.strerror or error)) from None


def append_message(path: str, message: FailureMessage, *, has_event: bool) -> None:
    """Append a line to the file of this absolute path. Raises OSError."""
    line = encode_failure(message, has_event=has_event) + b"\n"
    with _appending:
        is_new = not os.path.exists(path)
        _append_line(path, line)
        if is_new:
            sync_folder(os.path.dirname(path))


def write_object(folder: str, message: FailureMessage) -> None:
    """Write a file with the document and the event below the folder of this absolute path. Raises OSError."""
    path = os.path.join(folder, *message.object_key.split("/"))
    _make_folder(os.path.dirname(path))
    _write_file(path, encode_failure(message, has_event=True))


def _absolute(path: str, is_fitting: Callable[[str], bool], refusal: str) -> str:
    """The absolute path. Raises PlaceUnusable if the folder that holds it is missing, or something else is there."""
    if not path or "\0" in path:
        raise PlaceUnusable(messages.NO_PATH)
    absolute = os.path.abspath(path)
    parent = os.path.dirname(absolute)
    if not os.path.isdir(parent):
        raise PlaceUnusable(messages.NO_PARENT.format(path=path[:500], parent=parent[:500]))
    if os.path.exists(absolute) and not is_fitting(absolute):
        raise PlaceUnusable(refusal.format(path=path[:500]))
    return absolute


def _append_line(path: str, line: bytes) -> None:
    """Append a line and sync it. Begins a new line if the last one was not finished. Raises OSError."""
    with open(path, "a+b", buffering=0) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        if size_bytes:
            file.seek(size_bytes - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        left = memoryview(line)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())


def _make_folder(path: str) -> None:
    """Make a folder and those above it, durably; the uppermost that exists is left alone. Raises OSError."""
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        _make_folder(parent)
        os.makedirs(path, exist_ok=True)
        sync_folder(parent)


def _write_file(path: str, content: bytes) -> None:
    """Write a file, which appears or is replaced at once, durably. Raises OSError."""
    unfinished = f"{path}.{secrets.token_hex(4)}.unfinished"
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
    sync_folder(os.path.dirname(path))


# --- the table of the file of triggers ------------------------------------------------------------

_read_arn = re.compile(
    r"arn:aws[a-z-]*:(?:(?P<named>sqs|sns):(?P<region>[a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]{1,256}"
    r"|(?P<bucket>s3):::[a-z0-9.-]{3,63})"
).fullmatch
"""Queues and topics that are not FIFO, and buckets. Source: Lambda's API reference of 2026, *OnFailure*."""
_is_signable = re.compile(r"[!-+.0-~-]+").fullmatch
"""Matches access keys that can be part of a signature's Credential."""
_SERVICES = frozenset({"sqs", "sns", "s3"})
"""Services whose ARNs are destinations. A place with a member of the same name is an endpoint of the service, and gets
signed requests."""
_MEMBERS: Mapping[str, frozenset[str]] = {
    "sqs": frozenset({"sqs"}),
    "sns": frozenset({"sns"}),
    "s3": frozenset({"s3"}),
    "folder": frozenset({"s3"}),
    "http": _SERVICES,
    "file": _SERVICES,
}
"""Member that says where messages go (the value of an ARN in the table) → services whose ARNs may have such a value."""
_Text = Annotated[str, Meta(min_length=1, max_length=2_000)]


class DestinationsError(SettingUnusable):
    """The table of destinations cannot be used; the message names the ARN, the reason and a remedy."""


class _Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the messages of one ARN go, as the file of triggers says it."""

    sqs: _Text | None = None
    sns: _Text | None = None
    s3: _Text | None = None
    folder: _Text | None = None
    http: _Text | None = None
    file: _Text | None = None
    access_key: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    secret_key: _Text | None = None


class _Entry(NamedTuple):
    """An entry of the table, checked except for what its text names."""

    arn: str
    service: str
    """`sqs`, `sns` or `s3`."""
    region: str
    """Empty for `s3`."""
    kind: str
    """The member that says where messages go."""
    text: str
    access_key: str
    secret_key: str


def read_destinations(table: Mapping[str, Any]) -> Mapping[str, Destination]:
    """The destinations by ARN. Raises DestinationsError for the first entry that cannot be used.

    Nothing is sent, made or written; of files and folders, only those above them must be there.
    """
    found = {}
    for arn, value in table.items():
        try:
            entry = _read_entry(arn, value)
            found[arn] = _OPEN[entry.kind](entry)
        except (PlaceUnusable, UrlUnusable) as error:
            raise DestinationsError(messages.DESTINATION_UNUSABLE.format(arn=arn[:500], reason=error)) from None
    return found


def _read_entry(arn: str, value: Any) -> _Entry:
    """Check an entry. Raises PlaceUnusable for the first fault."""
    match = _read_arn(arn)
    if match is None:
        raise PlaceUnusable(messages.NO_DESTINATION_ARN)
    service = match["named"] or match["bucket"]
    fitting = [kind for kind, services in _MEMBERS.items() if service in services]
    examples = ", ".join(messages.EXAMPLES[kind] for kind in fitting)
    try:
        place = msgspec.convert(value, _Place)
    except msgspec.ValidationError:
        reason = fault_in(value, _Place)
        raise PlaceUnusable(messages.MALFORMED_PLACE.format(reason=reason, examples=examples)) from None
    given = [kind for kind in _MEMBERS if getattr(place, kind) is not None]
    if len(given) != 1 or given[0] not in fitting:
        raise PlaceUnusable(messages.ONE_PLACE.format(service=service, examples=examples))
    kind = given[0]
    if (place.access_key is None) != (place.secret_key is None):
        raise PlaceUnusable(messages.HALF_A_KEY)
    if place.access_key is not None and kind not in _SERVICES:
        raise PlaceUnusable(messages.UNSIGNED.format(kind=kind))
    if place.access_key is not None and not _is_signable(place.access_key):
        raise PlaceUnusable(messages.UNSIGNABLE)
    text: str = getattr(place, kind)
    return _Entry(
        arn, service, match["region"] or "", kind, text, place.access_key or "test", place.secret_key or "test"
    )


def _open_queue(entry: _Entry) -> Destination:
    target = _target_with_path(entry)
    signer = OutgoingSigner(entry.access_key, entry.secret_key, entry.region, "sqs")
    return partial(send_to_queue, target._replace(path="/"), entry.text, signer)


def _open_topic(entry: _Entry) -> Destination:
    signer = OutgoingSigner(entry.access_key, entry.secret_key, entry.region, "sns")
    return partial(send_to_topic, read_target(entry.text), entry.arn, signer)


def _open_bucket(entry: _Entry) -> Destination:
    target = _target_with_path(entry)
    bucket = target._replace(path=target.path.rstrip("/"))
    return partial(send_to_bucket, bucket, entry.access_key, entry.secret_key)


def _target_with_path(entry: _Entry) -> HttpTarget:
    """Where requests go. Raises PlaceUnusable if the URL names only a server, or has a query, and UrlUnusable."""
    target = read_target(entry.text)
    if not target.path.strip("/") or "?" in target.path:
        example = messages.EXAMPLES[entry.kind]
        raise PlaceUnusable(messages.NO_PATH_IN_URL.format(url=entry.text[:500], example=example))
    return target


_OPEN: Mapping[str, Callable[[_Entry], Destination]] = {
    "sqs": _open_queue,
    "sns": _open_topic,
    "s3": _open_bucket,
    "folder": lambda entry: folder_destination(entry.text),
    "http": lambda entry: partial(send_to_url, read_target(entry.text), has_event=entry.service == "s3"),
    "file": lambda entry: file_destination(entry.text, has_event=entry.service == "s3"),
}
"""Member of a place → what opens it."""
