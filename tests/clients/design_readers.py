"""How are the outputs of `hashrange design` turned into requests again? By readers of CloudFormation, of what the CDK
synthesises, of HCL and of commands of the AWS CLI, that share nothing with what wrote them.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import hcl2
import yaml

Request = tuple[str, str, dict[str, Any]]
"""Service, operation and members, as boto3 takes them."""
SCALING = "application-autoscaling"


class CloudFormationLoader(yaml.SafeLoader):
    """YAML, with short forms of intrinsic functions as `{"Fn": …}`."""


def intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, str]:
    assert isinstance(node, yaml.ScalarNode)
    return {suffix: str(loader.construct_scalar(node))}


CloudFormationLoader.add_multi_constructor("!", intrinsic)


def read_cloudformation(text: str) -> Iterator[Request]:
    """The requests that a template with one `AWS::DynamoDB::Table` makes."""
    resources = yaml.load(text, CloudFormationLoader)["Resources"]
    [table] = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::DynamoDB::Table"]
    members = {**table}
    ttl, recovery = members.pop("TimeToLiveSpecification", None), members.pop("PointInTimeRecoverySpecification", None)
    if "StreamSpecification" in members:
        members["StreamSpecification"] = {"StreamEnabled": True, **members["StreamSpecification"]}
    if "SSESpecification" in members:
        sse = {**members["SSESpecification"]}
        members["SSESpecification"] = {"Enabled": sse.pop("SSEEnabled"), **sse}
    yield "dynamodb", "create_table", members
    name = members["TableName"]
    yield from further(name, ttl, recovery)

    def resolved(value: Any) -> Any:
        return re.sub(r"\$\{\w+\}", name, value["Sub"]) if isinstance(value, dict) and "Sub" in value else value

    targets = {}
    for logical_id, one in resources.items():
        properties = {key: resolved(value) for key, value in one["Properties"].items()}
        if one["Type"] == "AWS::ApplicationAutoScaling::ScalableTarget":
            targets[logical_id] = properties
            yield SCALING, "register_scalable_target", properties
        elif one["Type"] == "AWS::ApplicationAutoScaling::ScalingPolicy":
            target = targets[properties.pop("ScalingTargetId")["Ref"]]
            place = {key: target[key] for key in ("ServiceNamespace", "ResourceId", "ScalableDimension")}
            yield SCALING, "put_scaling_policy", place | properties


def further(name: str, ttl: Mapping[str, Any] | None, recovery: Mapping[str, Any] | None) -> Iterator[Request]:
    if ttl is not None:
        yield "dynamodb", "update_time_to_live", {"TableName": name, "TimeToLiveSpecification": ttl}
    if recovery is not None:
        members = {"TableName": name, "PointInTimeRecoverySpecification": recovery}
        yield "dynamodb", "update_continuous_backups", members


class GlobalTableUnits:
    """Reads provisioned units of a global table, and collects what scales them."""

    def __init__(self) -> None:
        self.scaled: list[Request] = []

    def throughput(self, write: Mapping[str, Any], read: Mapping[str, Any], kind: str, resource: str) -> dict[str, int]:
        """The ProvisionedThroughput of a table or an index. `kind`: `table` or `index`."""
        reads, writes = read["ReadProvisionedThroughputSettings"], write["WriteProvisionedThroughputSettings"]
        return {
            "ReadCapacityUnits": self._units("Read", reads, kind, resource),
            "WriteCapacityUnits": self._units("Write", writes, kind, resource),
        }

    def _units(self, word: str, settings: Mapping[str, Any], kind: str, resource: str) -> int:
        if f"{word}CapacityUnits" in settings:
            return int(settings[f"{word}CapacityUnits"])
        scaling = settings[f"{word}CapacityAutoScalingSettings"]
        if scaling["MinCapacity"] < scaling["MaxCapacity"]:
            place = {
                "ServiceNamespace": "dynamodb",
                "ResourceId": resource,
                "ScalableDimension": f"dynamodb:{kind}:{word}CapacityUnits",
            }
            bounds = {key: scaling[key] for key in ("MinCapacity", "MaxCapacity")}
            self.scaled.append((SCALING, "register_scalable_target", place | bounds))
            metric = f"DynamoDB{word}CapacityUtilization"
            tracking = {
                **scaling["TargetTrackingScalingPolicyConfiguration"],
                "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
            }
            policy = {
                "PolicyName": f"{metric}:{resource}",
                "PolicyType": "TargetTrackingScaling",
                "TargetTrackingScalingPolicyConfiguration": tracking,
            }
            self.scaled.append((SCALING, "put_scaling_policy", place | policy))
        return int(scaling["MinCapacity"])


def read_global_table(template: Mapping[str, Any]) -> Iterator[Request]:
    """The requests of a synthesised template with one `AWS::DynamoDB::GlobalTable` of one replica."""
    resources = template["Resources"].values()
    [table] = [one["Properties"] for one in resources if one["Type"] == "AWS::DynamoDB::GlobalTable"]
    [replica] = table["Replicas"]
    name, units = table["TableName"], GlobalTableUnits()
    members = {key: table[key] for key in ("TableName", "AttributeDefinitions", "KeySchema", "BillingMode")}
    own = {one["IndexName"]: one for one in replica.get("GlobalSecondaryIndexes", ())}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if member in table:
            members[member] = [
                {key: one[key] for key in ("IndexName", "KeySchema", "Projection")} for one in table[member]
            ]
    if table["BillingMode"] == "PROVISIONED":
        members["ProvisionedThroughput"] = units.throughput(table, replica, "table", f"table/{name}")
        for one, made in zip(table["GlobalSecondaryIndexes"], members["GlobalSecondaryIndexes"], strict=True):
            index = one["IndexName"]
            throughput = units.throughput(one, own[index], "index", f"table/{name}/index/{index}")
            made["ProvisionedThroughput"] = throughput
    if "StreamSpecification" in table:
        members["StreamSpecification"] = {"StreamEnabled": True, **table["StreamSpecification"]}
    if "SSESpecification" in table:
        key = replica.get("SSESpecification", {})
        members["SSESpecification"] = {"Enabled": True, "SSEType": table["SSESpecification"]["SSEType"], **key}
    members |= {key: replica[key] for key in ("DeletionProtectionEnabled", "TableClass", "Tags") if key in replica}
    yield "dynamodb", "create_table", members
    yield from further(name, table.get("TimeToLiveSpecification"), replica.get("PointInTimeRecoverySpecification"))
    yield from units.scaled


# --- Terraform ----------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """What hcl2 has read, without its marks of blocks and with strings as what they say."""
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items() if key != "__is_block__"}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and value.startswith('"'):
        return json.loads(value)
    return value


def unescaped(value: Any) -> Any:
    """A literal of a template with `$${` and `%%{` as what they stand for."""
    return value.replace("$${", "${").replace("%%{", "%{") if isinstance(value, str) else value


def terraform_resources(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Type and label → members."""
    found = {}
    for one in plain(hcl2.loads(text))["resource"]:
        [(kind, labelled)] = one.items()
        [(label, members)] = labelled.items()
        found[kind, label] = members
    return found


def read_terraform(text: str) -> Iterator[Request]:
    """The requests that the provider sends for one `aws_dynamodb_table` and what scales it."""
    resources = terraform_resources(text)
    [(label, table)] = [(label, one) for (kind, label), one in resources.items() if kind == "aws_dynamodb_table"]
    name = table["name"]
    yield "dynamodb", "create_table", terraform_table(table)
    ttl, recovery = table.get("ttl"), table.get("point_in_time_recovery")
    yield from further(
        name,
        {"AttributeName": ttl[0]["attribute_name"], "Enabled": ttl[0]["enabled"]} if ttl else None,
        recovery
        and {
            "PointInTimeRecoveryEnabled": recovery[0]["enabled"],
            "RecoveryPeriodInDays": recovery[0]["recovery_period_in_days"],
        },
    )
    places = {}
    for (kind, own), one in resources.items():
        if kind == "aws_appautoscaling_target":
            places[own] = {
                "ServiceNamespace": one["service_namespace"],
                "ResourceId": one["resource_id"].replace(f"${{aws_dynamodb_table.{label}.name}}", name),
                "ScalableDimension": one["scalable_dimension"],
            }
            bounds = {"MinCapacity": one["min_capacity"], "MaxCapacity": one["max_capacity"]}
            yield SCALING, "register_scalable_target", places[own] | bounds
        elif kind == "aws_appautoscaling_policy":
            assert one["resource_id"] == f"${{aws_appautoscaling_target.{own}.resource_id}}"
            [tracking] = one["target_tracking_scaling_policy_configuration"]
            [metric] = tracking["predefined_metric_specification"]
            configuration = {
                "TargetValue": tracking["target_value"],
                "PredefinedMetricSpecification": {"PredefinedMetricType": metric["predefined_metric_type"]},
            }
            policy = {
                "PolicyName": one["name"].replace(f"${{aws_dynamodb_table.{label}.name}}", name),
                "PolicyType": one["policy_type"],
                "TargetTrackingScalingPolicyConfiguration": configuration,
            }
            yield SCALING, "put_scaling_policy", places[own] | policy


def terraform_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The members of CreateTable."""
    members: dict[str, Any] = {
        "TableName": table["name"],
        "BillingMode": table["billing_mode"],
        "AttributeDefinitions": [
            {"AttributeName": unescaped(one["name"]), "AttributeType": one["type"]} for one in table["attribute"]
        ],
        "KeySchema": terraform_keys(table),
        **terraform_units(table),
    }
    local = [{**one, "hash_key": table["hash_key"]} for one in table.get("local_secondary_index", ())]
    for member, indexes in (
        ("GlobalSecondaryIndexes", table.get("global_secondary_index", ())),
        ("LocalSecondaryIndexes", local),
    ):
        if indexes:
            members[member] = [terraform_index(one) for one in indexes]
    if table.get("stream_enabled"):
        members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table["stream_view_type"]}
    plain_names = {"table_class": "TableClass", "deletion_protection_enabled": "DeletionProtectionEnabled"}
    members |= {member: table[name] for name, member in plain_names.items() if name in table}
    if "server_side_encryption" in table:
        [encryption] = table["server_side_encryption"]
        key = {"KMSMasterKeyId": encryption["kms_key_arn"]} if "kms_key_arn" in encryption else {}
        members["SSESpecification"] = {"Enabled": encryption["enabled"], "SSEType": "KMS", **key}
    if "tags" in table:
        members["Tags"] = [{"Key": unescaped(key), "Value": unescaped(value)} for key, value in table["tags"].items()]
    return members


def terraform_index(block: Mapping[str, Any]) -> dict[str, Any]:
    projection = {"ProjectionType": block["projection_type"]}
    if "non_key_attributes" in block:
        projection["NonKeyAttributes"] = block["non_key_attributes"]
    return {
        "IndexName": block["name"],
        "KeySchema": terraform_keys(block),
        "Projection": projection,
        **terraform_units(block),
    }


def terraform_keys(members: Mapping[str, Any]) -> list[dict[str, str]]:
    if "key_schema" in members:
        return [{"AttributeName": one["attribute_name"], "KeyType": one["key_type"]} for one in members["key_schema"]]
    keys = [("HASH", members.get("hash_key")), ("RANGE", members.get("range_key"))]
    return [{"AttributeName": unescaped(name), "KeyType": kind} for kind, name in keys if name is not None]


def terraform_units(members: Mapping[str, Any]) -> dict[str, Any]:
    if "read_capacity" not in members:
        return {}
    units = {"ReadCapacityUnits": members["read_capacity"], "WriteCapacityUnits": members["write_capacity"]}
    return {"ProvisionedThroughput": units}


# --- the AWS CLI --------------------------------------------------------------------------------------


def read_commands(text: str, told: str) -> Iterator[Request]:
    """The requests of a CreateTable in JSON, and of the commands that follow it."""
    yield "dynamodb", "create_table", json.loads(text)
    for line in told.splitlines():
        aws, service, operation, flag, members = shlex.split(line.removeprefix("Once the table is active: "))
        assert (aws, flag) == ("aws", "--cli-input-json")
        yield service, operation.replace("-", "_"), json.loads(members)
