"""Which requests make functions, event source mappings, scaling and alarms as a template wants them? First one that
reads what is there, then at most two that create or change it.

Members that a template does not name stay as they are.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from hashrange.templates.requests import STACK_TAG, TemplateRequest
from hashrange.templates.stack import ALARM_TYPE, FUNCTION_TYPE, MAPPING_TYPE, POLICY_TYPE, TARGET_TYPE
from hashrange.templates.wanted import WantedCompanion


class CompanionKind(NamedTuple):
    """How one type of companions is read, made and changed."""

    noun: str
    service: str
    reading: str
    """The operation that describes the companion."""
    read_by: Mapping[str, str]
    """Member of that operation → the companion's member that it takes, with `[]` at the end if it takes a list."""
    found_in: str
    """Member of the reply that has a list of those found; empty if the reply is the one."""
    creation: str
    update: str
    """The operation that changes the companion; the same as `creation` if that replaces it."""
    not_compared: frozenset[str]
    """Members that are given at the creation only."""


COMPANION_KINDS = {
    FUNCTION_TYPE: CompanionKind(
        "function", "lambda", "GetFunctionConfiguration", {"FunctionName": "FunctionName"}, "",
        "CreateFunction", "UpdateFunctionConfiguration", frozenset({"Architectures", "Code", "FunctionName", "Tags"}),
    ),
    MAPPING_TYPE: CompanionKind(
        "event source mapping", "lambda", "ListEventSourceMappings",
        {"FunctionName": "FunctionName", "EventSourceArn": "EventSourceArn"}, "EventSourceMappings",
        "CreateEventSourceMapping", "UpdateEventSourceMapping",
        frozenset({"EventSourceArn", "FunctionName", "StartingPosition", "StartingPositionTimestamp"}),
    ),
    TARGET_TYPE: CompanionKind(
        "scalable target", "application-autoscaling", "DescribeScalableTargets",
        {
            "ServiceNamespace": "ServiceNamespace", "ResourceIds": "ResourceId[]",
            "ScalableDimension": "ScalableDimension",
        },
        "ScalableTargets", "RegisterScalableTarget", "RegisterScalableTarget", frozenset({"RoleARN"}),
    ),
    POLICY_TYPE: CompanionKind(
        "scaling policy", "application-autoscaling", "DescribeScalingPolicies",
        {
            "ServiceNamespace": "ServiceNamespace", "ResourceId": "ResourceId",
            "ScalableDimension": "ScalableDimension", "PolicyNames": "PolicyName[]",
        },
        "ScalingPolicies", "PutScalingPolicy", "PutScalingPolicy", frozenset(),
    ),
    ALARM_TYPE: CompanionKind(
        "alarm", "cloudwatch", "DescribeAlarms", {"AlarmNames": "AlarmName[]"}, "MetricAlarms",
        "PutMetricAlarm", "PutMetricAlarm", frozenset({"Tags"}),
    ),
}  # fmt: skip


def resource_words(companion: WantedCompanion) -> str:
    """What a companion is called: `function archiver`."""
    members, kind = companion.members, COMPANION_KINDS[companion.type]
    if companion.type == MAPPING_TYPE:
        return f"{kind.noun} {companion.place}"
    if companion.type in {TARGET_TYPE, POLICY_TYPE}:
        return f"{kind.noun} {members.get('ResourceId')} {str(members.get('ScalableDimension')).rpartition(':')[2]}"
    return f"{kind.noun} {members.get('FunctionName') or members.get('AlarmName')}"


def companion_reading(companion: WantedCompanion) -> TemplateRequest:
    """The request whose reply, for `companion_requests`, says what is there."""
    kind = COMPANION_KINDS[companion.type]
    members = {
        name: [companion.members.get(of[:-2])] if of.endswith("[]") else companion.members.get(of)
        for name, of in kind.read_by.items()
    }
    return TemplateRequest(kind.service, kind.reading, members, resource_words(companion), "read")


def companion_requests(
    companion: WantedCompanion, reply: Mapping[str, Any] | None, stack: str | None
) -> list[TemplateRequest]:
    """The requests, in order; empty if the companion is as it should be. `reply`: to `companion_reading`, None if there
    is none. `stack`: for the tag of what is created; None: without it.

    A function's code is given as `{"ZipFile": bytes}`.
    """
    kind, resource = COMPANION_KINDS[companion.type], resource_words(companion)
    ones = [reply] if reply is not None and not kind.found_in else (reply or {}).get(kind.found_in) or []
    if not ones:
        members = _creation_members(companion, stack)
        is_waited_for = companion.type == FUNCTION_TYPE
        return [TemplateRequest(kind.service, kind.creation, members, resource, "created", is_waited_for)]
    present = ones[0]
    if companion.type == MAPPING_TYPE:
        present = {**present, "Enabled": not str(present.get("State", "")).startswith("Disabl")}
    names = [
        name
        for name, one in companion.members.items()
        if name not in kind.not_compared and not alike(one, present.get(name))
    ]
    found = []
    if companion.type == FUNCTION_TYPE and companion.members.get("Code", {}).get("Sha256") not in {
        None,
        present.get("CodeSha256"),
    }:
        code = {"FunctionName": companion.members["FunctionName"], "ZipFile": companion.members["Code"]["ZipFile"]}
        found.append(TemplateRequest(kind.service, "UpdateFunctionCode", code, resource, "code", is_waited_for=True))
    if names:
        told = "; ".join(f"{name}: {_shown(present.get(name))} → {_shown(companion.members[name])}" for name in names)
        members = _update_members(companion, kind, present, names)
        found.append(
            TemplateRequest(
                kind.service, kind.update, members, resource, told, is_waited_for=companion.type == FUNCTION_TYPE
            )
        )
    return found


def _creation_members(companion: WantedCompanion, stack: str | None) -> dict[str, Any]:
    members = {name: one for name, one in companion.members.items() if one not in ([], {}) or name == "Environment"}
    tags = {one["Key"]: one["Value"] for one in members.get("Tags", [])}
    if stack is not None and companion.type != POLICY_TYPE:  # which has no tags
        tags[STACK_TAG] = stack
    if tags:
        as_list = [{"Key": name, "Value": one} for name, one in tags.items()]
        members["Tags"] = as_list if companion.type == ALARM_TYPE else tags
    return members


def _update_members(
    companion: WantedCompanion, kind: CompanionKind, present: Mapping[str, Any], names: list[str]
) -> dict[str, Any]:
    if kind.update == kind.creation:
        return {name: one for name, one in companion.members.items() if name != "Tags" and one != []}
    changed = {name: companion.members[name] for name in names}
    if companion.type == MAPPING_TYPE:
        return {"UUID": present["UUID"], **changed}
    return {"FunctionName": companion.members["FunctionName"], **changed}


def alike(wanted: Any, present: Any) -> bool:
    """True if a member is as it should be. What is empty, false or missing is the same."""
    if isinstance(wanted, dict):
        if not isinstance(present, dict):
            return not present and all(alike(one, None) for one in wanted.values())
        return all(alike(wanted.get(name), present.get(name)) for name in {*wanted, *present})
    if isinstance(wanted, list):
        ones, others = sorted(wanted, key=_in_order), sorted(present or [], key=_in_order)
        return len(ones) == len(others) and all(map(alike, ones, others))
    return wanted == present or (not wanted and not present)


def _in_order(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _shown(value: Any) -> str:
    return "none" if value in (None, [], {}) else json.dumps(value, sort_keys=True, default=str)
