"""Where do on-failure destinations really go? A TOML table maps their ARNs to endpoints, URLs,
files and folders; this file reads it.

    [destinations]
    "arn:aws:sqs:eu-west-1:000000000000:failed" = { sqs = "http://127.0.0.1:9324/000000000000/failed" }
    "arn:aws:sns:eu-west-1:000000000000:failed" = { sns = "http://127.0.0.1:9911" }
    "arn:aws:s3:::failed" = { s3 = "http://127.0.0.1:9000/failed", access_key = "…", secret_key = "…" }
    "arn:aws:s3:::failed-too" = { folder = "./failed" }

Any ARN may have `http`, a URL, or `file`, which gets lines of JSON.
Requests to SQS, SNS and S3 are signed with `access_key` and `secret_key`, by default `test` and `test`, for the Region
of the ARN or, as buckets' ARNs have none, of the stream.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from hashrange.functions.http_client import HttpTarget, UrlUnusable, read_target
from hashrange.messages import destinations as messages
from hashrange.settings import SettingUnusable
from hashrange.triggers.destinations.destination import Destination, PlaceUnusable
from hashrange.triggers.destinations.endpoints import (
    BucketDestination,
    QueueDestination,
    TopicDestination,
    UrlDestination,
)
from hashrange.triggers.destinations.files import file_destination, folder_destination
from hashrange.wire.outgoing_signature import OutgoingSigner
from hashrange.written.values import fault_in

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
            raise DestinationsError(messages.destination_unusable(arn, str(error))) from None
    return found


def _read_entry(arn: str, value: Any) -> _Entry:
    """Check an entry. Raises PlaceUnusable for the first fault."""
    match = _read_arn(arn)
    if match is None:
        raise PlaceUnusable(messages.NO_DESTINATION_ARN)
    service = match["named"] or match["bucket"]
    fitting = [kind for kind, services in _MEMBERS.items() if service in services]
    try:
        place = msgspec.convert(value, _Place)
    except msgspec.ValidationError:
        raise PlaceUnusable(messages.malformed_place(fault_in(value, _Place).removesuffix("."), fitting)) from None
    given = [kind for kind in _MEMBERS if getattr(place, kind) is not None]
    if len(given) != 1 or given[0] not in fitting:
        raise PlaceUnusable(messages.one_place(service, fitting))
    kind = given[0]
    if (place.access_key is None) != (place.secret_key is None):
        raise PlaceUnusable(messages.HALF_A_KEY)
    if place.access_key is not None and kind not in _SERVICES:
        raise PlaceUnusable(messages.unsigned(kind))
    if place.access_key is not None and not _is_signable(place.access_key):
        raise PlaceUnusable(messages.UNSIGNABLE)
    text: str = getattr(place, kind)
    return _Entry(
        arn, service, match["region"] or "", kind, text, place.access_key or "test", place.secret_key or "test"
    )


def _open_queue(entry: _Entry) -> Destination:
    target = _target_with_path(entry)
    signer = OutgoingSigner(entry.access_key, entry.secret_key, entry.region, "sqs")
    return QueueDestination(target._replace(path="/"), entry.text, signer)


def _open_topic(entry: _Entry) -> Destination:
    signer = OutgoingSigner(entry.access_key, entry.secret_key, entry.region, "sns")
    return TopicDestination(read_target(entry.text), entry.arn, signer)


def _open_bucket(entry: _Entry) -> Destination:
    target = _target_with_path(entry)
    return BucketDestination(target._replace(path=target.path.rstrip("/")), entry.access_key, entry.secret_key)


def _target_with_path(entry: _Entry) -> HttpTarget:
    """Where requests go. Raises PlaceUnusable if the URL names only a server, or has a query, and UrlUnusable."""
    target = read_target(entry.text)
    if not target.path.strip("/") or "?" in target.path:
        raise PlaceUnusable(messages.no_path_in_url(entry.kind, entry.text))
    return target


_OPEN: Mapping[str, Callable[[_Entry], Destination]] = {
    "sqs": _open_queue,
    "sns": _open_topic,
    "s3": _open_bucket,
    "folder": lambda entry: folder_destination(entry.text),
    "http": lambda entry: UrlDestination(read_target(entry.text), has_event=entry.service == "s3"),
    "file": lambda entry: file_destination(entry.text, has_event=entry.service == "s3"),
}
"""Member of a place → what opens it."""
