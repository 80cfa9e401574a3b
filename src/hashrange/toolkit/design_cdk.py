"""Which CDK makes a designed table? TypeScript with a stack, in which there is the construct `TableV2`.

`TableV2` scales all units of writes: a fixed number is a range with equal ends there.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.toolkit.design_cloudformation import pascal_case
from hashrange.toolkit.table_design import (
    AWS_MANAGED,
    AWS_OWNED,
    DesignedCapacity,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    TableDesign,
)

ATTRIBUTE_TYPES = {"S": "STRING", "N": "NUMBER", "B": "BINARY"}
TEMPLATE = """import {{ CfnOutput, RemovalPolicy, Stack, StackProps }} from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
{imports}import {{ Construct }} from 'constructs';

/** The DynamoDB table {name}. In an app: new {stack}(app, '{stack}'{environment}) */
export class {stack} extends Stack {{
  readonly table: dynamodb.TableV2;

  constructor(scope: Construct, id: string, props?: StackProps) {{
    super(scope, id, props);

    this.table = new dynamodb.TableV2(this, '{construct}', {properties});

    new CfnOutput(this, 'TableName', {{ value: this.table.tableName }});
    new CfnOutput(this, 'TableArn', {{ value: this.table.tableArn }});
{outputs}  }}
}}
"""
LINE_CHARACTERS_MAX = 90
KMS_IMPORT = "import * as kms from 'aws-cdk-lib/aws-kms';\n"
STREAM_OUTPUT = "    new CfnOutput(this, 'StreamArn', { value: this.table.tableStreamArn! });\n"


class Code(str):
    """TypeScript that is no literal."""

    __slots__ = ()


def cdk(design: TableDesign) -> str:
    """The TypeScript."""
    construct = pascal_case(design.name)
    stack = f"{construct if construct[0].isalpha() else f'Table{construct}'}Stack"
    has_own_key = design.encryption not in {AWS_OWNED, AWS_MANAGED}
    return TEMPLATE.format(
        name=design.name,
        stack=stack,
        construct=construct,
        properties=typescript(_properties(design), 2),
        imports=KMS_IMPORT if has_own_key else "",
        environment=", { env: { region: '…' } }" if has_own_key else "",
        outputs=STREAM_OUTPUT if design.stream_view is not None else "",
    )


def _properties(design: TableDesign) -> dict[str, Any]:
    """The properties of `TableV2`."""
    recovery = {"pointInTimeRecoveryEnabled": True, "recoveryPeriodInDays": design.recovery_days}
    is_standard = design.table_class == "STANDARD"
    properties = {
        "tableName": design.name,
        "partitionKey": _key(design.partition_key),
        "sortKey": design.sort_key and _key(design.sort_key),
        "billing": design.capacity and _billing(design.capacity),
        "globalSecondaryIndexes": [_index(one) for one in design.global_indexes] or None,
        "localSecondaryIndexes": [_index(one) for one in design.local_indexes] or None,
        "timeToLiveAttribute": design.ttl_attribute,
        "dynamoStream": design.stream_view and Code(f"dynamodb.StreamViewType.{design.stream_view}"),
        "pointInTimeRecoverySpecification": design.recovery_days and recovery,
        "deletionProtection": design.is_deletion_protected or None,
        "tableClass": None if is_standard else Code(f"dynamodb.TableClass.{design.table_class}"),
        "encryption": _encryption(design.encryption),
        "tags": [{"key": key, "value": value} for key, value in design.tags] or None,
        "removalPolicy": Code("RemovalPolicy.RETAIN"),
    }
    return {name: value for name, value in properties.items() if value is not None}


def _billing(capacity: DesignedCapacity) -> Code:
    return Code(f"dynamodb.Billing.provisioned({typescript(_capacity(capacity), 3)})")


def _encryption(encryption: str) -> Code | None:
    if encryption == AWS_OWNED:
        return None
    if encryption == AWS_MANAGED:
        return Code("dynamodb.TableEncryptionV2.awsManagedKey()")
    key = f"kms.Key.fromKeyArn(this, 'Key', {typescript(encryption, 0)})"
    return Code(f"dynamodb.TableEncryptionV2.customerManagedKey({key})")


def _key(key: DesignedKey) -> dict[str, Any]:
    return {"name": key.name, "type": Code(f"dynamodb.AttributeType.{ATTRIBUTE_TYPES[key.letter]}")}


def _index(index: DesignedIndex) -> dict[str, Any]:
    properties: dict[str, Any] = {"indexName": index.name}
    for kind, keys in (("partitionKey", index.partition_keys), ("sortKey", index.sort_keys)):
        if len(keys) == 1:
            properties[kind] = _key(keys[0])
        elif keys:
            properties[f"{kind}s"] = [_key(key) for key in keys]
    properties["projectionType"] = Code(f"dynamodb.ProjectionType.{index.projection}")
    if index.included:
        properties["nonKeyAttributes"] = list(index.included)
    if index.capacity is not None:
        properties |= _capacity(index.capacity)
    return properties


def _capacity(capacity: DesignedCapacity) -> dict[str, Any]:
    read = capacity.read
    fixed = Code(f"dynamodb.Capacity.fixed({read.least})")
    return {"readCapacity": fixed if read.most is None else _scaled(read), "writeCapacity": _scaled(capacity.write)}


def _scaled(units: DesignedUnits) -> Code:
    bounds = f"minCapacity: {units.least}, maxCapacity: {units.most or units.least}"
    return Code(f"dynamodb.Capacity.autoscaled({{ {bounds}, targetUtilizationPercent: {units.target_percent} }})")


def typescript(value: Any, depth: int) -> str:
    """A value as a literal of TypeScript, whose further lines are indented for `depth` blocks and one more."""
    if isinstance(value, Code):
        return value
    if isinstance(value, str):
        return "'" + json.dumps(value)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    if isinstance(value, Mapping):
        line = "{ " + ", ".join(f"{key}: {typescript(one, 0)}" for key, one in value.items()) + " }"
        if len(value) <= 2 and len(line) <= LINE_CHARACTERS_MAX and "\n" not in line:
            return line
        return _block("{", [f"{key}: {typescript(one, depth + 1)}" for key, one in value.items()], "}", depth)
    if isinstance(value, Sequence):
        if all(isinstance(one, str) for one in value):
            return "[" + ", ".join(typescript(one, 0) for one in value) + "]"
        return _block("[", [typescript(one, depth + 1) for one in value], "]", depth)
    return json.dumps(value)


def _block(begin: str, members: Sequence[str], end: str, depth: int) -> str:
    """Members in lines of their own."""
    inner, outer = "  " * (depth + 1), "  " * depth
    return "\n".join([begin, *(f"{inner}{member}," for member in members), f"{outer}{end}"])
