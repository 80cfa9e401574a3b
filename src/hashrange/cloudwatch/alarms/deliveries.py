"""How are actions of alarms executed outside of this server? A notification goes to a URL,
or to an endpoint that speaks SNS's Publish.

A URL gets what SNS sends to a subscriber. An endpoint of SNS is a setting. Each is tried three times.
"""

import asyncio
import uuid
from urllib.parse import urlencode

import msgspec

from hashrange.clock import SystemClock
from hashrange.cloudwatch.alarms.alarms import AlarmAction
from hashrange.cloudwatch.alarms.notification import notification_of, subject_of
from hashrange.errors import without_frames
from hashrange.functions.http_client import ExchangeFailed, HttpTarget, UrlUnusable, exchange, read_target
from hashrange.limits import DELIVERY_REPLY_BYTES_MAX, DESTINATION_SECONDS_MAX
from hashrange.wire.outgoing_signature import OutgoingSigner, signed_headers

TRIES = 3
PAUSE_SECONDS = 0.2
"""Real time before the second try; twice as long before the third."""
SNS_VERSION = "2010-03-31"
_SECRET_KEY = "hashrange"  # noqa: S105 - emulators of SNS accept any


async def deliver_to_url(told: AlarmAction) -> str | None:
    """Send a notification to the URL that the action is. Returns None, or what went wrong."""
    try:
        target = read_target(told.action)
    except UrlUnusable as error:
        return str(error)
    message = {
        "Type": "Notification",
        "MessageId": str(uuid.uuid4()),
        "TopicArn": told.action,
        "Subject": subject_of(told),
        "Message": msgspec.json.encode(notification_of(told)).decode(),
        "Timestamp": notification_of(told)["StateChangeTime"],
    }
    headers = {
        "Content-Type": "text/plain; charset=UTF-8",
        "x-amz-sns-message-type": "Notification",
        # whoever sets an alarm may not use this server's admin API in the server's name
        "Sec-Fetch-Site": "cross-site",
    }
    return await _send(target, headers, msgspec.json.encode(message))


async def publish_to_topic(endpoint: HttpTarget, told: AlarmAction) -> str | None:
    """Publish a notification to the topic that the action is, at an endpoint that speaks SNS's API.
    Returns None, or what went wrong.
    """
    members = {
        "Action": "Publish",
        "Version": SNS_VERSION,
        "TopicArn": told.action,
        "Subject": subject_of(told),
        "Message": msgspec.json.encode(notification_of(told)).decode(),
    }
    body = urlencode(members).encode()
    signer = OutgoingSigner(told.alarm.account, _SECRET_KEY, told.alarm.region, "sns")
    headers = {"Host": endpoint.authority, "Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    signed = signed_headers(signer, "POST", endpoint.path, headers, body, SystemClock.wall_time())
    return await _send(endpoint, signed, body)


async def _send(target: HttpTarget, headers: dict[str, str], body: bytes) -> str | None:
    """POST a body, up to TRIES times. Returns None once it has been accepted, or what went wrong at last."""
    problem: str | None = None
    for number in range(TRIES):
        if number:
            await asyncio.sleep(PAUSE_SECONDS * 2 ** (number - 1))
        sending = asyncio.ensure_future(exchange(target, "POST", headers, body, DELIVERY_REPLY_BYTES_MAX))
        try:
            reply = await asyncio.wait_for(sending, DESTINATION_SECONDS_MAX)
        except TimeoutError:
            problem = f"no reply within {DESTINATION_SECONDS_MAX:g} s"
        except ExchangeFailed as error:
            problem = str(without_frames(error))  # its frames refer to the task that refers to it
        else:
            if reply.status < 300:
                return None
            problem = f"status {reply.status}"
    return problem
