"""What do the resources of SAM stand for? Serverless functions and simple tables → resources of CloudFormation, before
anything in them is resolved.

Source: AWS SAM developer guide, *AWS SAM resource and property reference*.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hashrange.templates.stack import LeftOut
from hashrange.templates.texts import TemplateError

TRANSFORM = "AWS::Serverless-2016-10-31"
SAM_FUNCTION, SAM_TABLE = "AWS::Serverless::Function", "AWS::Serverless::SimpleTable"
GLOBALS = {SAM_FUNCTION: "Function", SAM_TABLE: "SimpleTable"}
KEY_TYPES = {"String": "S", "Number": "N", "Binary": "B"}
DEFAULT_KEY = {"Name": "id", "Type": "String"}


def is_sam(document: Mapping[str, Any]) -> bool:
    """True if the template has the transform of SAM."""
    transform = document.get("Transform")
    return TRANSFORM in (transform if isinstance(transform, list) else [transform])


def expand_serverless(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[LeftOut]]:
    """The template with resources of CloudFormation instead of SAM's, and the events that have none."""
    left_out: list[LeftOut] = []
    resources: dict[str, Any] = {}
    for name, resource in document["Resources"].items():
        kind = resource["Type"]
        if kind not in GLOBALS:
            resources[name] = resource
            continue
        shared = (document["Globals"].get(GLOBALS[kind]) or {}) if isinstance(document.get("Globals"), dict) else {}
        properties = _merged(shared, resource.get("Properties") or {})
        if not isinstance(properties, dict):
            raise TemplateError(f"Resources.{name}.Properties is no object.")
        common = {one: resource[one] for one in ("Condition",) if one in resource}
        if kind == SAM_TABLE:
            resources[name] = {"Type": "AWS::DynamoDB::Table", "Properties": _table(name, properties), **common}
            continue
        resources[name] = {"Type": "AWS::Lambda::Function", "Properties": _function(name, properties), **common}
        for place, mapping, fault in _mappings(name, properties):
            if fault is not None:
                left_out.append(fault)
            else:
                resources[place] = {"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping, **common}
    return {**document, "Resources": resources}, left_out


def _merged(shared: Any, own: Any) -> Any:
    """Globals and a resource's own: objects are merged, lists joined, and scalars replaced."""
    if isinstance(shared, dict) and isinstance(own, dict):
        return {**shared, **{name: _merged(shared[name], one) if name in shared else one for name, one in own.items()}}
    return [*shared, *own] if isinstance(shared, list) and isinstance(own, list) else own


def _table(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    key = properties.get("PrimaryKey", DEFAULT_KEY)
    if not isinstance(key, dict) or not isinstance(key.get("Type", "String"), str):
        raise TemplateError(f"Resources.{name}.Properties.PrimaryKey must have a Name and a Type.")
    attribute, kind = key.get("Name", "id"), KEY_TYPES.get(key.get("Type", "String"), key.get("Type"))
    units = properties.get("ProvisionedThroughput")
    copied = {one: properties[one] for one in properties if one not in {"PrimaryKey", "ProvisionedThroughput", "Tags"}}
    return {
        "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": kind}],
        "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
        **({"BillingMode": "PAY_PER_REQUEST"} if units is None else {"ProvisionedThroughput": units}),
        **copied,
        **_tags(properties),
    }


def _tags(properties: dict[str, Any]) -> dict[str, Any]:
    """SAM's tags are an object; those of CloudFormation a list."""
    tags = properties.get("Tags")
    if not isinstance(tags, dict):
        return {}
    return {"Tags": [{"Key": name, "Value": value} for name, value in tags.items()]}


def _function(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    made = {one: properties[one] for one in properties if one not in {"CodeUri", "InlineCode", "Events", "Tags"}}
    if "InlineCode" in properties:
        made["Code"] = {"ZipFile": properties["InlineCode"]}
    elif "CodeUri" in properties:
        made["Code"] = _code(properties["CodeUri"])
    made.setdefault(
        "Role", {"Fn::Sub": f"arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:role/${{AWS::StackName}}-{name}Role"}
    )
    return {**made, **_tags(properties)}


def _code(uri: Any) -> Any:
    if isinstance(uri, str) and uri.startswith("s3://"):
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        return {"S3Bucket": bucket, "S3Key": key}
    if isinstance(uri, dict) and "Bucket" in uri:
        return {"S3Bucket": uri["Bucket"], "S3Key": uri.get("Key")}
    return uri


def _without_types(member: Any) -> Any:
    """A member of an event without the Type of a destination, which only SAM has."""
    if not isinstance(member, dict) or not isinstance(member.get("OnFailure"), dict):
        return member
    return {**member, "OnFailure": {name: one for name, one in member["OnFailure"].items() if name != "Type"}}


def _mappings(name: str, properties: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], LeftOut | None]]:
    """Logical ID and properties of the event source mapping that stands for each event, or why there is none."""
    events = properties.get("Events") or {}
    if not isinstance(events, dict):
        raise TemplateError(f"Resources.{name}.Properties.Events is no object.")
    for event_name, event in events.items():
        kind = event.get("Type") if isinstance(event, dict) else None
        own = event.get("Properties") if isinstance(event, dict) else None
        place = f"{name}{event_name}"
        if kind != "DynamoDB" or not isinstance(own, dict):
            reason = "only events of DynamoDB streams are mapped"
            yield place, {}, LeftOut(f"{name}.Events.{event_name}", f"event {kind}", reason)
            continue
        copied = {one: _without_types(own[one]) for one in own if one != "Stream"}
        yield place, {"FunctionName": {"Ref": name}, "EventSourceArn": own.get("Stream"), **copied}, None
