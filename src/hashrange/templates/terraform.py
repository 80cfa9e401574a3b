"""Which resources are in a Terraform plan, or a state, as `terraform show -json` prints it? Resources of the AWS
provider → resources with CloudFormation's types and properties.

A value that Terraform knows only after an apply is looked up in the configuration, which names the resource that it
comes from. Sources: Terraform's *JSON Output Format*; the documentation of the provider's resources.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hashrange.templates.arns import NAMINGS, written_out
from hashrange.templates.late_values import late
from hashrange.templates.stack import LeftOut, Locality, TypedResource, unapplied
from hashrange.templates.texts import TemplateError

TABLE = "aws_dynamodb_table"
TYPES = {
    TABLE: "AWS::DynamoDB::Table",
    "aws_lambda_function": "AWS::Lambda::Function",
    "aws_lambda_event_source_mapping": "AWS::Lambda::EventSourceMapping",
    "aws_appautoscaling_target": "AWS::ApplicationAutoScaling::ScalableTarget",
    "aws_appautoscaling_policy": "AWS::ApplicationAutoScaling::ScalingPolicy",
    "aws_cloudwatch_metric_alarm": "AWS::CloudWatch::Alarm",
}
ON_DEMAND = "PAY_PER_REQUEST"
NAMED = {
    TABLE: ("AWS::DynamoDB::Table", "name"),
    "aws_lambda_function": ("AWS::Lambda::Function", "function_name"),
    "aws_iam_role": ("AWS::IAM::Role", "name"),
    "aws_sqs_queue": ("AWS::SQS::Queue", "name"),
    "aws_sns_topic": ("AWS::SNS::Topic", "name"),
}
"""Type of Terraform → the type of `NAMINGS`, and the attribute that has the name."""
ADDED_TO_TABLES = {
    "aws_dynamodb_contributor_insights": "table_name",
    "aws_dynamodb_resource_policy": "resource_arn",
    "aws_dynamodb_tag": "resource_arn",
}
"""Resources that say something about a table, and the attribute that names it."""
BLOCKS = {
    "destination_config", "environment", "filter_criteria", "on_failure", "predefined_metric_specification",
    "target_tracking_scaling_policy_configuration",
}  # fmt: skip
"""Blocks that are there once; in JSON each is a list of one object."""
RENAMED = {
    "filter": "Filters", "ok_actions": "OKActions", "role_arn": "RoleARN", "destination_arn": "Destination",
    "name": "PolicyName", "actions_enabled": "ActionsEnabled",
}  # fmt: skip
UNRESERVED = ("reserved_concurrent_executions", -1)
"""What the provider says of functions without reserved concurrency."""
NOT_PROPERTIES = {
    "arn", "ephemeral_storage", "id", "logging_config", "package_type", "publish", "region",
    "skip_destroy", "source_code_hash", "tags_all", "timeouts", "tracing_config",
}  # fmt: skip


def is_terraform(document: Mapping[str, Any]) -> bool:
    """True for what `terraform show -json` prints."""
    return "planned_values" in document or ("values" in document and "terraform_version" in document)


class _Module:
    """The resources of one module, and the expressions of its configuration."""

    def __init__(self, values: Mapping[str, Any], configuration: Mapping[str, Any]) -> None:
        self.resources = _objects(values.get("resources"))
        self.expressions = {
            f"{one.get('type')}.{one.get('name')}": _object(one.get("expressions"))
            for one in _objects(configuration.get("resources"))
        }


def terraform_resources(document: Mapping[str, Any], place: Locality) -> tuple[list[TypedResource], list[LeftOut]]:
    """The resources that are applied, and those that are not. Raises TemplateError."""
    values = document.get("planned_values") or document.get("values")
    configuration = document.get("configuration") or {}
    if not isinstance(values, dict) or not isinstance(configuration, dict):
        raise TemplateError("planned_values is no object.")
    found: dict[str, TypedResource] = {}
    left_out: list[LeftOut] = []
    modules = list(_modules(values.get("root_module") or {}, configuration.get("root_module") or {}))
    for module in modules:
        for resource in module.resources:
            kind, address = str(resource.get("type")), str(resource.get("address"))
            if resource.get("mode") == "data" or kind in ADDED_TO_TABLES:
                continue
            if kind not in TYPES:
                left_out.append(unapplied(address, kind))
                continue
            members = _known_values(module, resource, place)
            properties = _table(members) if kind == TABLE else _camel_members(members)
            found[address] = TypedResource(address, TYPES[kind], properties)
    for module in modules:
        for resource in module.resources:
            if str(resource.get("type")) in ADDED_TO_TABLES:
                _add_to_table(_known_values(module, resource, place), resource, found, left_out)
    return list(found.values()), left_out


def _modules(values: Any, configuration: Any) -> Iterator[_Module]:
    if not isinstance(values, dict) or not isinstance(configuration, dict):
        raise TemplateError("a module of the plan is no object.")
    yield _Module(values, configuration)
    inner = _object(configuration.get("module_calls"))
    for child in _objects(values.get("child_modules")):
        name = str(child.get("address", "")).rpartition("module.")[2].partition("[")[0]
        yield from _modules(child, _object(_object(inner.get(name)).get("module")))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value or [], list) or not all(isinstance(one, dict) for one in value or []):
        raise TemplateError("a list of resources in it is none.")
    return value or []


# --- values that are known after the apply --------------------------------------------------------


def _known_values(module: _Module, resource: Mapping[str, Any], place: Locality) -> dict[str, Any]:
    """The planned values, and those that the configuration takes from other resources."""
    members = {name: one for name, one in _object(resource.get("values")).items() if one is not None}
    expressions = module.expressions.get(f"{resource.get('type')}.{resource.get('name')}", {})
    for name, expression in expressions.items():
        references = expression.get("references") if isinstance(expression, dict) else None
        if name not in members and isinstance(references, list) and references:
            members[name] = _referred(module, str(references[0]), place)
    return members


def _referred(module: _Module, reference: str, place: Locality) -> str:
    """The value of `aws_dynamodb_table.orders.stream_arn`."""
    kind, name, attribute = (*reference.split("."), "", "")[:3]
    name = name.partition("[")[0]
    targets = [one for one in module.resources if (one.get("type"), one.get("name")) == (kind, name)]
    if len(targets) != 1:
        return late(reference)
    values = _object(targets[0].get("values"))
    if isinstance(values.get(attribute), str):
        return str(values[attribute])
    if kind == TABLE and attribute == "stream_arn":
        return late(f"{targets[0].get('address')}.StreamArn")
    type_, name_attribute = NAMED.get(kind, ("", ""))
    if attribute in {"arn", "id"} and isinstance(values.get(name_attribute), str):
        return (
            written_out(NAMINGS[type_].arn, place, values[name_attribute])
            if attribute == "arn"
            else values[name_attribute]
        )
    return late(reference)


# --- properties -----------------------------------------------------------------------------------


def _camel_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members with CloudFormation's names; empty ones are not there."""
    made = {}
    for name, value in members.items():
        if name in NOT_PROPERTIES or value in (None, [], {}, "") or (name, value) == UNRESERVED:
            continue
        if name == "filename":
            made["Code"] = value
        elif name == "tags":
            made["Tags"] = _tags(value)
        elif name == "dimensions":
            made["Dimensions"] = [{"Name": key, "Value": one} for key, one in _object(value).items()]
        elif name == "variables":
            made["Variables"] = value
        else:
            made[RENAMED.get(name) or _camel(name)] = _camel_value(name, value)
    return made


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _camel_value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        inner = [_camel_members(one) if isinstance(one, dict) else one for one in value]
        return inner[0] if name in BLOCKS and len(inner) == 1 else inner
    return _camel_members(value) if isinstance(value, dict) else value


def _tags(tags: Any) -> list[dict[str, Any]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()] if isinstance(tags, dict) else []


def _table(values: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of aws_dynamodb_table."""
    if values.get("billing_mode") == ON_DEMAND:
        values = _without_units(values)
    made: dict[str, Any] = {
        "TableName": values.get("name"),
        "BillingMode": values.get("billing_mode") or "PROVISIONED",
        "AttributeDefinitions": [
            {"AttributeName": one.get("name"), "AttributeType": one.get("type")} for one in _blocks(values, "attribute")
        ],
        "KeySchema": _keys(values),
        "GlobalSecondaryIndexes": [_index(one) for one in _blocks(values, "global_secondary_index")],
        "LocalSecondaryIndexes": [
            _index({"hash_key": values.get("hash_key"), **one}) for one in _blocks(values, "local_secondary_index")
        ],
        "TableClass": values.get("table_class"),
        "DeletionProtectionEnabled": values.get("deletion_protection_enabled"),
        "Tags": _tags(values.get("tags_all") or values.get("tags")),
        **_throughput(values),
    }
    for ttl in _blocks(values, "ttl"):
        if ttl.get("enabled"):
            made["TimeToLiveSpecification"] = {"AttributeName": ttl.get("attribute_name"), "Enabled": True}
    for recovery in _blocks(values, "point_in_time_recovery"):
        days = recovery.get("recovery_period_in_days") if recovery.get("enabled") else None
        made["PointInTimeRecoverySpecification"] = {
            "PointInTimeRecoveryEnabled": recovery.get("enabled"), **({"RecoveryPeriodInDays": days} if days else {}),
        }  # fmt: skip
    for encryption in _blocks(values, "server_side_encryption"):
        key = encryption.get("kms_key_arn")
        made["SSESpecification"] = {"SSEEnabled": encryption.get("enabled"), **({"KMSMasterKeyId": key} if key else {})}
    if values.get("stream_enabled"):
        made["StreamSpecification"] = {"StreamViewType": values.get("stream_view_type")}
    for name, property_ in (("replica", "Replicas"), ("import_table", "ImportSourceSpecification")):
        made[property_] = _blocks(values, name)
    return {name: value for name, value in made.items() if value not in (None, [], {}, "")}


def _without_units(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without units, which the provider does not send for a table on demand."""
    kept = {name: one for name, one in values.items() if name not in {"read_capacity", "write_capacity"}}
    indexes = [_without_units(one) for one in _blocks(values, "global_secondary_index")]
    return {**kept, "global_secondary_index": indexes} if indexes else kept


def _blocks(values: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return _objects(values.get(name))


def _keys(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Keys of a table or an index: hash_key and range_key, or blocks of an index with several attributes."""
    blocks = [
        {"AttributeName": one.get("attribute_name"), "KeyType": one.get("key_type")}
        for one in _blocks(values, "key_schema")
    ]
    pairs = ((values.get("hash_key"), "HASH"), (values.get("range_key"), "RANGE"))
    return blocks or [{"AttributeName": name, "KeyType": kind} for name, kind in pairs if name]


def _index(values: Mapping[str, Any]) -> dict[str, Any]:
    others = values.get("non_key_attributes")
    projection = {"ProjectionType": values.get("projection_type"), **({"NonKeyAttributes": others} if others else {})}
    return {
        "IndexName": values.get("name"),
        "KeySchema": _keys(values),
        "Projection": projection,
        **_throughput(values),
    }


def _throughput(values: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if values.get("read_capacity") and values.get("write_capacity"):
        made["ProvisionedThroughput"] = {
            "ReadCapacityUnits": values["read_capacity"], "WriteCapacityUnits": values["write_capacity"],
        }  # fmt: skip
    for limits in _blocks(values, "on_demand_throughput"):
        found = {_camel(name): limits[name] for name in limits if isinstance(limits[name], int) and limits[name] > 0}
        if found:
            made["OnDemandThroughput"] = found
    return made


def _add_to_table(
    values: Mapping[str, Any], resource: Mapping[str, Any], found: dict[str, TypedResource], left_out: list[LeftOut]
) -> None:
    """Put a resource that says something about a table into the table's properties."""
    kind, address = str(resource.get("type")), str(resource.get("address"))
    name = str(values.get(ADDED_TO_TABLES[kind])).rpartition("table/")[2]
    tables = [one for one in found.values() if one.type == TYPES[TABLE] and one.properties.get("TableName") == name]
    if not tables:
        left_out.append(LeftOut(address, kind, "its table is not in the plan"))
        return
    properties = tables[0].properties
    assert isinstance(properties, dict)
    if kind == "aws_dynamodb_resource_policy":
        properties["ResourcePolicy"] = {"PolicyDocument": values.get("policy")}
    elif kind == "aws_dynamodb_tag":
        properties.setdefault("Tags", []).append({"Key": values.get("key"), "Value": values.get("value")})
    else:
        mode = values.get("mode")
        insights = {"Enabled": True, **({"Mode": mode} if mode else {})}
        indexes = properties.get("GlobalSecondaryIndexes", [])
        owner = next((one for one in indexes if one["IndexName"] == values.get("index_name")), properties)
        owner["ContributorInsightsSpecification"] = insights
