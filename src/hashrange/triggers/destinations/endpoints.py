"""How does a message reach a queue, topic, bucket or URL? In one request over HTTP;
any status from 200 to 299 says that it was taken.

Queues get SendMessage in SQS's JSON protocol, topics Publish in SNS's Query protocol, buckets an object by its path.
These requests are signed at the machine's own time, because the receiver compares their date with its clock,
whatever service time is. Source: service models of SQS, SNS and S3 of November 2026.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from hashrange.clock import SystemClock
from hashrange.functions.http_client import ExchangeFailed, HttpTarget, ReplyTooLarge, exchange
from hashrange.limits import DELIVERY_REPLY_BYTES_MAX
from hashrange.messages import destinations as messages
from hashrange.triggers.destinations.destination import DeliveryFailed
from hashrange.triggers.failure_message import FailureMessage, encode_failure, object_key, region_of
from hashrange.wire.outgoing_signature import OutgoingSigner, signed_headers

_JSON = "application/json"


class QueueDestination(NamedTuple):
    """An SQS queue."""

    target: HttpTarget
    """The endpoint, not the queue's own path."""
    queue_url: str
    signer: OutgoingSigner

    async def deliver(self, message: FailureMessage) -> None:
        """Send the document as the body of a message."""
        document = encode_failure(message, has_event=False).decode()
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessage"}
        body = msgspec.json.encode({"QueueUrl": self.queue_url, "MessageBody": document})
        await _send(self.target, "POST", _sign(self.signer, self.target, "POST", headers, body), body)


class TopicDestination(NamedTuple):
    """An SNS topic."""

    target: HttpTarget
    topic_arn: str
    signer: OutgoingSigner

    async def deliver(self, message: FailureMessage) -> None:
        """Publish the document."""
        document = encode_failure(message, has_event=False).decode()
        headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
        members = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": self.topic_arn, "Message": document}
        body = urlencode(members).encode()
        await _send(self.target, "POST", _sign(self.signer, self.target, "POST", headers, body), body)


class BucketDestination(NamedTuple):
    """An S3 bucket, or a folder of one."""

    target: HttpTarget
    """Its path is that of the bucket, without a slash at the end."""
    access_key: str
    secret_key: str

    async def deliver(self, message: FailureMessage) -> None:
        """Put an object with the document and the event."""
        target, headers, body = await asyncio.to_thread(self._request, message)
        await _send(target, "PUT", headers, body)

    def _request(self, message: FailureMessage) -> tuple[HttpTarget, Mapping[str, str], bytes]:
        """Target, headers and body; takes some 40 ms with an event of 6 MB."""
        target = self.target._replace(path=f"{self.target.path}/{object_key(message)}")
        signer = OutgoingSigner(self.access_key, self.secret_key, region_of(message), "s3")
        body = encode_failure(message, has_event=True)
        return target, _sign(signer, target, "PUT", {"Content-Type": _JSON}, body), body


class UrlDestination(NamedTuple):
    """Any URL, which gets what the service of the ARN would get; only messages for a bucket hold the event."""

    target: HttpTarget
    has_event: bool

    async def deliver(self, message: FailureMessage) -> None:
        """Post the document."""
        body = await asyncio.to_thread(encode_failure, message, has_event=self.has_event)
        await _send(self.target, "POST", {"Content-Type": _JSON}, body)


def _sign(
    signer: OutgoingSigner, target: HttpTarget, method: str, headers: Mapping[str, str], body: bytes
) -> Mapping[str, str]:
    """The headers to send, without Host, which the exchange adds."""
    named = {"Host": target.authority, **headers}
    signed = signed_headers(signer, method, target.path, named, body, SystemClock.wall_time())
    return {name: value for name, value in signed.items() if name != "Host"}


async def _send(target: HttpTarget, method: str, headers: Mapping[str, str], body: bytes) -> None:
    """Send a request. Raises DeliveryFailed unless the reply's status says that it succeeded."""
    excerpt = b""
    try:
        reply = await exchange(target, method, headers, body, DELIVERY_REPLY_BYTES_MAX)
        status, excerpt = reply.status, reply.body
    except ReplyTooLarge as error:  # the status counts all the same: another try would get the same reply
        if error.status is None:
            raise DeliveryFailed(messages.not_reached(target.url, str(error))) from None
        status = error.status
    except ExchangeFailed as error:
        raise DeliveryFailed(messages.not_reached(target.url, str(error))) from None
    if not 200 <= status < 300:
        raise DeliveryFailed(messages.refused(target.url, status, excerpt.decode(errors="replace")))
