"""The operations on the expiry of a table's items: UpdateTimeToLive, DescribeTimeToLive."""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.errors import ValidationException
from hashrange.messages import tables as say
from hashrange.operations.lookup import TableRequest, require_active, whole_table
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables.account_quotas import check_changes
from hashrange.tables.schema import TimeToLive
from hashrange.tables.states import time_to_live_status

FIRST_FILLED_ROWS = 256
"""Maximum rows of the table that the request itself inspects to fill the queue of expiries; about 2 ms."""


class TimeToLiveSpecification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether items expire, and by which attribute."""

    Enabled: bool
    AttributeName: Annotated[str, Meta(min_length=1, max_length=255)]


class UpdateTimeToLiveRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and its new time to live settings."""

    TimeToLiveSpecification: TimeToLiveSpecification


async def update_time_to_live(scope: Scope, request: UpdateTimeToLiveRequest) -> Reply:
    """UpdateTimeToLive: turn the expiry of a table's items on or off.

    Order of checks: name, member constraints → the table exists → it is ACTIVE → its time to live is off (to turn it
    on), or on with the same attribute (to turn it off) → time to live was not changed within the last hour of service
    time (`--ttl-cooldown`) → not too many tables change now.

    A job fills the queue of expiries; this request adds the queue's first rows, so that, without a state delay, a small
    table's time to live is ENABLED in the next call.

    Store the new time to live settings; the reply repeats them.
    """
    wanted = request.TimeToLiveSpecification
    while True:
        table = await whole_table(scope, request.TableName)
        now_seconds = scope.clock.service_time()
        require_active(table, now_seconds)
        _refuse(wanted, table.time_to_live, now_seconds, scope.settings.ttl_cooldown_seconds)
        check_changes(scope)
        until_seconds = now_seconds + scope.state_delay(table.name, "UpdateTimeToLive")
        new = TimeToLive(wanted.AttributeName, "ENABLING" if wanted.Enabled else "DISABLED", now_seconds, until_seconds)
        if await scope.store.catalog.replace(table, msgspec.structs.replace(table, time_to_live=new)):
            break
    if wanted.Enabled:
        maintenance = scope.maintenance
        await maintenance.backfill(table.source_id, FIRST_FILLED_ROWS)
    return {"TimeToLiveSpecification": {"Enabled": wanted.Enabled, "AttributeName": wanted.AttributeName}}


def _refuse(
    wanted: TimeToLiveSpecification, now: TimeToLive | None, now_seconds: float, cooldown_seconds: float
) -> None:
    """Raise ValidationException for turning on what is on, or turning off what is off or has another attribute.

    `now` is the current time to live. Also raises ValidationException within `cooldown_seconds` of the last change.
    """
    if now is None or now.state == "DISABLED":
        if not wanted.Enabled:
            raise ValidationException(say.TTL_ALREADY_DISABLED)
    elif now.attribute != wanted.AttributeName:
        raise ValidationException(say.TTL_OTHER_ATTRIBUTE.format(attribute=now.attribute))
    elif wanted.Enabled:
        raise ValidationException(say.TTL_ALREADY_ENABLED)
    if now is not None and now_seconds < now.changed_at_seconds + cooldown_seconds:
        raise ValidationException(say.TTL_CHANGED_LATELY)


async def describe_time_to_live(scope: Scope, request: TableRequest) -> Reply:
    """DescribeTimeToLive: return whether a table's items expire, and by which attribute.
    Order of checks: name → table exists.

    State of time to live, and the attribute's name unless the state is DISABLED.
    """
    time_to_live = (await whole_table(scope, request.TableName)).time_to_live
    status = time_to_live_status(time_to_live, scope.clock.service_time())
    description: dict[str, str] = {"TimeToLiveStatus": status}
    if time_to_live is not None and status != "DISABLED":
        description["AttributeName"] = time_to_live.attribute
    return {"TimeToLiveDescription": description}


OPERATIONS = (
    table_operation("UpdateTimeToLive", update_time_to_live, writes=True),
    table_operation("DescribeTimeToLive", describe_time_to_live),
)
