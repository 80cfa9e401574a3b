"""Which requests make tables as a template wants them? None for what is so already; otherwise one thing at a time, in
an order that the service takes.

What no request changes is not touched: `why_replaced` says that the keys of a table would be others.
Source: DynamoDB API reference, *UpdateTable*.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hashrange.templates.stack import TARGET_TYPE
from hashrange.templates.wanted import WantedCompanion, WantedTable

STACK_TAG = "hashrange:stack"
"""Tag of a table that a template has made: the name of its stack. By it, tables are found that a template drops."""
ON_DEMAND = "PAY_PER_REQUEST"
NO_LIMIT = -1
KEPT_TAGS = ("aws:", "hashrange:")
"""Beginnings of tags that no template sets."""
OnDemandLimits = dict[str, int]
_is_root = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):root").fullmatch


class TemplateRequest(NamedTuple):
    """One request of a template's application."""

    service: str
    """Name of the service in boto3."""
    operation: str
    members: dict[str, Any]
    resource: str
    """What it is about, such as `table Orders`."""
    told: str
    """What it changes, in a few words."""
    is_waited_for: bool = False
    """True if the table, and all its indexes, must be ACTIVE before the next request."""


class PresentTable(NamedTuple):
    """What the service says about a table."""

    description: Mapping[str, Any]
    time_to_live: str | None
    recovery_days: int | None
    """Days of point-in-time recovery; None if it is off."""
    insights: Mapping[str, str | None]
    tags: Mapping[str, str]
    policy: Any
    kinesis_streams: frozenset[str]


ScalingBounds = Mapping[tuple[str, str], tuple[int, int]]
"""Resource ID and dimension of a scalable target → the least and the most units."""


def scaling_bounds(companions: list[WantedCompanion]) -> ScalingBounds:
    """The units that auto scaling sets: no request resets those within the bounds."""
    targets = (companion.members for companion in companions if companion.type == TARGET_TYPE)
    return {
        (one.get("ResourceId", ""), one.get("ScalableDimension", "")): (
            one.get("MinCapacity", 0),
            one.get("MaxCapacity", 0),
        )
        for one in targets
    }


def table_requests(
    wanted: WantedTable, present: PresentTable | None, stack: str | None, scaled: ScalingBounds
) -> list[TemplateRequest]:
    """The requests, in order; empty if the table is as it should be. `stack`: for the table's tag; None: without it."""
    resource = f"table {wanted.name}"
    if present is None:
        creation, tags = dict(wanted.creation), _tags_wanted(wanted, stack)
        if tags:
            creation["Tags"] = [{"Key": name, "Value": one} for name, one in tags.items()]
        if wanted.policy is not None:
            creation["ResourcePolicy"] = _json(wanted.policy)
        created = TemplateRequest(
            "dynamodb", "CreateTable", creation, resource, _told_creation(creation), is_waited_for=True
        )
        described = {"TableName": wanted.name, "TableArn": ""}
        fresh = PresentTable(described, None, None, {}, tags, wanted.policy, frozenset())
        return [created, *_requests_beside(wanted, fresh, stack)]
    updates = [
        TemplateRequest(
            "dynamodb", "UpdateTable", {"TableName": wanted.name, **members}, resource, told, is_waited_for=True
        )
        for members, told in _updates(wanted, present.description, scaled)
    ]
    return [*updates, *_requests_beside(wanted, present, stack)]


def _told_creation(creation: Mapping[str, Any]) -> str:
    keys = ", ".join(one["AttributeName"] for one in creation.get("KeySchema", []))
    kinds = ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
    indexes = [one.get("IndexName", "") for kind in kinds for one in creation.get(kind, [])]
    stream = creation.get("StreamSpecification", {}).get("StreamViewType")
    billing = "on demand" if creation["BillingMode"] == ON_DEMAND else "provisioned"
    told = ["created", keys, billing, *indexes, f"stream {stream}" if stream else ""]
    return "; ".join(filter(None, told))


# --- what no request changes ------------------------------------------------------------------------


def why_replaced(wanted: WantedTable, present: Mapping[str, Any]) -> str | None:
    """Why the table would have to be replaced by another; None if it need not. `present`: DescribeTable's Table."""
    now, then = _keys(present, present), _keys(wanted.creation, wanted.creation)
    if now != then:
        return f"its key is {_shown_keys(now)}, and the template wants {_shown_keys(then)}"
    now_indexes, then_indexes = (_definitions(one, "LocalSecondaryIndexes") for one in (present, wanted.creation))
    if now_indexes != then_indexes:
        return "its local secondary indexes are others, and no request changes them"
    return None


Keys = tuple[tuple[str, str, str], ...]


def _keys(owner: Mapping[str, Any], table: Mapping[str, Any]) -> Keys:
    """Name, role and type of each key attribute of a table or an index."""
    types = {one.get("AttributeName"): one.get("AttributeType") for one in table.get("AttributeDefinitions", [])}
    return tuple(
        (str(one.get("AttributeName")), str(one.get("KeyType")), str(types.get(one.get("AttributeName"))))
        for one in owner.get("KeySchema", [])
    )


def _shown_keys(keys: Keys) -> str:
    return ", ".join(f"{name} ({kind})" for name, _, kind in keys)


def _definitions(table: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Name of each index → what no request changes of it."""
    found = {}
    for index in table.get(kind) or []:
        if index.get("IndexStatus") != "DELETING":
            projection = index.get("Projection") or {}
            others = frozenset(projection.get("NonKeyAttributes") or ())
            found[index["IndexName"]] = (_keys(index, table), projection.get("ProjectionType"), others)
    return found


# --- UpdateTable ------------------------------------------------------------------------------------


def _updates(
    wanted: WantedTable, present: Mapping[str, Any], scaled: ScalingBounds
) -> Iterator[tuple[dict[str, Any], str]]:
    """The members of each UpdateTable, and what it changes: the service takes one kind of change in each."""
    creation = wanted.creation
    now = bool(present.get("DeletionProtectionEnabled"))
    then = bool(creation.get("DeletionProtectionEnabled"))
    if now != then:
        yield {"DeletionProtectionEnabled": then}, _from_to("deletion protection", _on(now), _on(then))
    now_class = (present.get("TableClassSummary") or {}).get("TableClass", "STANDARD")
    if now_class != (then_class := creation.get("TableClass", "STANDARD")):
        yield {"TableClass": then_class}, _from_to("table class", now_class, then_class)
    yield from _encryption(creation, present)
    yield from _stream(creation, present)
    now_indexes = _definitions(present, "GlobalSecondaryIndexes")
    then_indexes = _definitions(creation, "GlobalSecondaryIndexes")
    deleted = {name for name, one in now_indexes.items() if then_indexes.get(name) != one}
    for name in sorted(deleted):
        yield {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}, f"index {name} deleted"
    kept = now_indexes.keys() - deleted
    yield from _capacity(wanted, present, kept, scaled)
    for index in creation.get("GlobalSecondaryIndexes", []):
        if index["IndexName"] not in kept:
            update = {
                "AttributeDefinitions": _attributes_for(creation, [*kept, index["IndexName"]]),
                "GlobalSecondaryIndexUpdates": [{"Create": index}],
            }
            kept = {*kept, index["IndexName"]}
            yield update, f"index {index['IndexName']} created"


def _attributes_for(creation: Mapping[str, Any], indexes: list[str]) -> list[dict[str, Any]]:
    """The definitions of attributes that are keys of the table or of these indexes: the service refuses others."""
    owners = [creation, *creation.get("LocalSecondaryIndexes", [])]
    owners += [one for one in creation["GlobalSecondaryIndexes"] if one["IndexName"] in indexes]
    names = {one["AttributeName"] for owner in owners for one in owner["KeySchema"]}
    return [one for one in creation["AttributeDefinitions"] if one["AttributeName"] in names]


def _encryption(creation: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    then = creation.get("SSESpecification") or {"Enabled": False}
    description = present.get("SSEDescription") or {}
    now_on = description.get("Status") in {"ENABLED", "ENABLING", "UPDATING"}
    now_key, then_key = str(description.get("KMSMasterKeyArn", "")), str(then.get("KMSMasterKeyId", ""))
    is_other_key = bool(then_key) and "alias/" not in then_key and not now_key.endswith(then_key)
    if now_on != then["Enabled"] or (then["Enabled"] and is_other_key):
        yield (
            {"SSESpecification": then},
            _from_to("encryption with a key of KMS", _on(now_on), then_key or _on(then["Enabled"])),
        )


def _stream(creation: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Another view type needs another stream: the first is disabled before."""
    specification = present.get("StreamSpecification") or {}
    now = specification.get("StreamViewType") if specification.get("StreamEnabled") else None
    then = (creation.get("StreamSpecification") or {}).get("StreamViewType")
    if now == then:
        return
    told = _from_to("stream", now or "off", then or "off")
    if now is not None:
        yield {"StreamSpecification": {"StreamEnabled": False}}, told if then is None else "stream disabled"
    if then is not None:
        yield {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": then}}, told


def _capacity(
    wanted: WantedTable, present: Mapping[str, Any], kept: set[str], scaled: ScalingBounds
) -> Iterator[tuple[dict[str, Any], str]]:
    """Billing mode, units, and limits on demand, of the table and of the indexes that stay."""
    creation = wanted.creation
    now_mode = (present.get("BillingModeSummary") or {}).get("BillingMode", "PROVISIONED")
    then_mode = creation["BillingMode"]
    now_by_name = {
        one["IndexName"]: one for one in present.get("GlobalSecondaryIndexes") or [] if one["IndexName"] in kept
    }
    pairs = [
        (one["IndexName"], one, now_by_name[one["IndexName"]])
        for one in creation.get("GlobalSecondaryIndexes", [])
        if one["IndexName"] in kept
    ]
    if now_mode != then_mode:
        told = _from_to("billing mode", now_mode, then_mode)
        if then_mode == ON_DEMAND:
            yield {"BillingMode": ON_DEMAND}, told
        else:
            updates = [_index_update(name, "ProvisionedThroughput", then) for name, then, _ in pairs]
            units = {"ProvisionedThroughput": creation.get("ProvisionedThroughput")}
            yield {"BillingMode": then_mode, **units, **_as_updates(updates)}, told
    elif then_mode != ON_DEMAND:
        yield from _units(wanted.name, creation, present, pairs, scaled)
    if then_mode == ON_DEMAND:
        yield from _limits(creation, present, pairs)
    warm = creation.get("WarmThroughput") or {}
    now_warm = present.get("WarmThroughput") or {}
    if any(number > now_warm.get(name, 0) for name, number in warm.items()):
        yield {"WarmThroughput": warm}, f"warm throughput: {_shown_units(warm)}"


IndexPairs = list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]
"""Name of an index, as it is wanted, and as it is."""


def _units(
    name: str, creation: Mapping[str, Any], present: Mapping[str, Any], pairs: IndexPairs, scaled: ScalingBounds
) -> Iterator[tuple[dict[str, Any], str]]:
    members: dict[str, Any] = {}
    told: list[str] = []
    units = _units_wanted(creation, present, f"table/{name}", "table", scaled)
    if units is not None:
        members["ProvisionedThroughput"] = units
        told.append(f"units: {_shown_units(units)}")
    updates = []
    for index, then, now in pairs:
        units = _units_wanted(then, now, f"table/{name}/index/{index}", "index", scaled)
        if units is not None:
            updates.append(_index_update(index, "ProvisionedThroughput", {"ProvisionedThroughput": units}))
            told.append(f"units of {index}: {_shown_units(units)}")
    if told:
        yield {**members, **_as_updates(updates)}, "; ".join(told)


def _units_wanted(
    then: Mapping[str, Any], now: Mapping[str, Any], resource: str, level: str, scaled: ScalingBounds
) -> dict[str, int] | None:
    """The units, if they are not so already. Those that auto scaling has set within its bounds stay."""
    wanted, present = then.get("ProvisionedThroughput") or {}, now.get("ProvisionedThroughput") or {}
    units = {}
    for name, number in wanted.items():
        least, most = scaled.get((resource, f"dynamodb:{level}:{name}"), (number, number))
        units[name] = present[name] if least <= present.get(name, 0) <= most else number
    return None if all(present.get(name) == number for name, number in units.items()) else units


def _limits(
    creation: Mapping[str, Any], present: Mapping[str, Any], pairs: IndexPairs
) -> Iterator[tuple[dict[str, Any], str]]:
    members, updates = {}, []
    limits = _limits_wanted(creation, present)
    if limits is not None:
        members["OnDemandThroughput"] = limits
    for index, then, now in pairs:
        limits = _limits_wanted(then, now)
        if limits is not None:
            updates.append(_index_update(index, "OnDemandThroughput", {"OnDemandThroughput": limits}))
    if members or updates:
        yield {**members, **_as_updates(updates)}, "limits on demand"


def _limits_wanted(then: Mapping[str, Any], now: Mapping[str, Any]) -> OnDemandLimits | None:
    """The limits, if they are not so already."""
    names = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
    wanted, present = (
        {name: (one.get("OnDemandThroughput") or {}).get(name, NO_LIMIT) for name in names} for one in (then, now)
    )
    return None if wanted == present else wanted


def _index_update(name: str, member: str, then: Mapping[str, Any]) -> dict[str, Any]:
    return {"Update": {"IndexName": name, member: then.get(member)}}


def _as_updates(updates: list[dict[str, Any]]) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": updates} if updates else {}


# --- beside the table -------------------------------------------------------------------------------


def _requests_beside(wanted: WantedTable, present: PresentTable, stack: str | None) -> Iterator[TemplateRequest]:
    """What is set by requests of its own. The ARN of a new table is filled in later: it is not known before."""
    name, resource = wanted.name, f"table {wanted.name}"
    arn = present.description["TableArn"]

    def request(operation: str, members: dict[str, Any], told: str) -> TemplateRequest:
        return TemplateRequest("dynamodb", operation, members, resource, told, is_waited_for=True)

    now, then = present.time_to_live, wanted.time_to_live
    if now != then:
        specification = {"AttributeName": now or then, "Enabled": now is None}
        told = f"time to live by {now or then} {_on(now is None)}"
        later = (
            f"; apply again in an hour, before which the service does not turn it on by {then}" if now and then else ""
        )
        members = {"TableName": name, "TimeToLiveSpecification": specification}
        yield request("UpdateTimeToLive", members, f"{told}{later}")
    yield from _recovery(wanted, present, request)
    for index in sorted({*present.insights, *wanted.insights}):
        is_on = index in wanted.insights
        mode = wanted.insights.get(index)
        if is_on != (index in present.insights) or (mode and present.insights.get(index) not in {None, mode}):
            members = {"TableName": name, **({"IndexName": index} if index else {})}
            members["ContributorInsightsAction"] = "ENABLE" if is_on else "DISABLE"
            members |= {"ContributorInsightsMode": mode} if mode else {}
            yield request(
                "UpdateContributorInsights",
                members,
                f"Contributor Insights {f'of {index} ' if index else ''}{_on(is_on)}",
            )
    if wanted.policy is not None and _compared(wanted.policy) != _compared(present.policy):
        yield request("PutResourcePolicy", {"ResourceArn": arn, "Policy": _json(wanted.policy)}, "resource policy")
    if wanted.policy is None and present.policy is not None:
        yield request("DeleteResourcePolicy", {"ResourceArn": arn}, "resource policy deleted")
    if wanted.kinesis_stream is not None and wanted.kinesis_stream not in present.kinesis_streams:
        members = {"TableName": name, "StreamArn": wanted.kinesis_stream}
        yield request("EnableKinesisStreamingDestination", members, f"changes go to {wanted.kinesis_stream}")
    yield from _tagging(wanted, present, stack, request)


def _recovery(wanted: WantedTable, present: PresentTable, request: Any) -> Iterator[TemplateRequest]:
    then = wanted.recovery
    is_on = then is not None
    days = then.get("RecoveryPeriodInDays") if then is not None else None
    if is_on == (present.recovery_days is not None) and days in {None, present.recovery_days}:
        return
    specification = {"PointInTimeRecoveryEnabled": is_on, **({"RecoveryPeriodInDays": days} if days else {})}
    members = {"TableName": wanted.name, "PointInTimeRecoverySpecification": specification}
    yield request(
        "UpdateContinuousBackups", members, f"point-in-time recovery {_on(is_on)}{f', {days} days' if days else ''}"
    )


def _tags_wanted(wanted: WantedTable, stack: str | None) -> dict[str, str]:
    """The tags of a table, with that of its stack."""
    own = {one["Key"]: one["Value"] for one in wanted.creation.get("Tags", [])}
    return own if stack is None else {**own, STACK_TAG: stack}


def _tagging(wanted: WantedTable, present: PresentTable, stack: str | None, request: Any) -> Iterator[TemplateRequest]:
    then = _tags_wanted(wanted, stack)
    added = {name: one for name, one in then.items() if present.tags.get(name) != one}
    removed = [name for name in present.tags if name not in then and not name.startswith(KEPT_TAGS)]
    arn = present.description["TableArn"]
    if removed:
        yield request("UntagResource", {"ResourceArn": arn, "TagKeys": removed}, f"tags removed: {', '.join(removed)}")
    if added:
        tags = [{"Key": name, "Value": one} for name, one in added.items()]
        yield request("TagResource", {"ResourceArn": arn, "Tags": tags}, f"tags: {', '.join(added)}")


# --- words ------------------------------------------------------------------------------------------


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


def _from_to(what: str, now: object, then: object) -> str:
    return f"{what}: {now} → {then}"


def _shown_units(units: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{number} {'read' if name.startswith(('Read', 'MaxRead')) else 'write'}" for name, number in units.items()
    )


def _json(document: Any) -> str:
    """A policy as text."""
    return document if isinstance(document, str) else json.dumps(document, sort_keys=True, separators=(",", ":"))


def _compared(policy: Any) -> str:
    """What policies that say the same have in common: the service keeps another form of a policy than it was given."""
    with contextlib.suppress(ValueError):
        policy = json.loads(policy) if isinstance(policy, str) else policy
    return _json(_normal(policy))


def _normal(value: Any) -> Any:
    """A policy's value with lists in order, those of one element as that element, and accounts as their numbers."""
    if isinstance(value, dict):
        return {name: _normal(one) for name, one in value.items()}
    if isinstance(value, list):
        ones = {json.dumps(_normal(one), sort_keys=True): _normal(one) for one in value}
        return next(iter(ones.values())) if len(ones) == 1 else [ones[text] for text in sorted(ones)]
    root = _is_root(value) if isinstance(value, str) else None
    return root[1] if root else value
