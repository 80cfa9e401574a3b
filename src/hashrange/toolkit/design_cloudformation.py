"""Which CloudFormation makes a designed table? A template of `AWS::DynamoDB::Table` and of what scales its units."""

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

from hashrange.messages.installing import how_to_install
from hashrange.toolkit.design_requests import ScaledUnits, create_table_members, scaled_units, tracking
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.table_design import TableDesign

_quoted_intrinsics = re.compile(r"^( *\w+: !\w+) '([^'\n]+)'$", re.MULTILINE)
NEEDS_YAML = "YAML is written by PyYAML, which is not installed. Install it: {install}."


class IntrinsicText(str):
    """The text of an intrinsic function, such as `!Ref`."""

    __slots__ = ("tag",)
    tag: str


def intrinsic(tag: str, text: str) -> IntrinsicText:
    """`!Sub …` and its like."""
    made = IntrinsicText(text)
    made.tag = tag
    return made


def cloudformation(design: TableDesign) -> str:
    """The template, as YAML. Raises ToolkitFailure without PyYAML."""
    table = f"{pascal_case(design.name)}Table"
    outputs = {
        "TableName": {"Value": intrinsic("!Ref", table)},
        "TableArn": {"Value": intrinsic("!GetAtt", f"{table}.Arn")},
    }
    if design.stream_view is not None:
        outputs["StreamArn"] = {"Value": intrinsic("!GetAtt", f"{table}.StreamArn")}
    resources = {
        table: {
            "Type": "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": table_properties(design),
        }
    }
    for name, scaled in named_scaling(design):
        resources |= _scaling_resources(table, name, scaled, design.name)
    return as_yaml(
        {
            "AWSTemplateFormatVersion": "2010-09-09",
            "Description": f"The DynamoDB table {design.name}.",
            "Resources": resources,
            "Outputs": outputs,
        }
    )


def table_properties(design: TableDesign) -> dict[str, Any]:
    """The properties of `AWS::DynamoDB::Table`: the members of CreateTable, some of which have other names there."""
    properties = create_table_members(design)
    tags = properties.pop("Tags", None)
    if "StreamSpecification" in properties:
        del properties["StreamSpecification"]["StreamEnabled"]
    if "SSESpecification" in properties:
        encryption = properties["SSESpecification"]
        properties["SSESpecification"] = {"SSEEnabled": encryption.pop("Enabled"), **encryption}
    if design.ttl_attribute is not None:
        properties["TimeToLiveSpecification"] = {"AttributeName": design.ttl_attribute, "Enabled": True}
    if design.recovery_days is not None:
        properties["PointInTimeRecoverySpecification"] = {
            "PointInTimeRecoveryEnabled": True,
            "RecoveryPeriodInDays": design.recovery_days,
        }
    return properties | ({"Tags": tags} if tags else {})


def _scaling_resources(table: str, name: str, scaled: ScaledUnits, table_name: str) -> dict[str, Any]:
    """The scalable target of some units, and its policy."""
    index = scaled.resource.removeprefix(table_name)
    return {
        f"{name}Target": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "ServiceNamespace": "dynamodb",
                "ResourceId": intrinsic("!Sub", f"table/${{{table}}}{index}"),
                "ScalableDimension": scaled.dimension,
                "MinCapacity": scaled.units.least,
                "MaxCapacity": scaled.units.most,
            },
        },
        f"{name}Policy": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {
                "PolicyName": intrinsic("!Sub", f"{scaled.metric}:table/${{{table}}}{index}"),
                "PolicyType": "TargetTrackingScaling",
                "ScalingTargetId": intrinsic("!Ref", f"{name}Target"),
                "TargetTrackingScalingPolicyConfiguration": tracking(scaled),
            },
        },
    }


def named_scaling(design: TableDesign) -> list[tuple[str, ScaledUnits]]:
    """What auto scaling moves, with unique names: `TableRead`, or `ByStatusWrite` for an index."""
    found = list(scaled_units(design))
    indexes = [one.resource.partition("/index/")[2] for one in found]
    kinds = ["Read" if "Read" in one.dimension else "Write" for one in found]
    names = [f"{pascal_case(index or 'Table')}{kind}" for index, kind in zip(indexes, kinds, strict=True)]
    return list(zip(unique_names(names), found, strict=True))


def pascal_case(name: str) -> str:
    """A name of letters and digits: `by-status` → `ByStatus`."""
    return "".join(word[:1].upper() + word[1:] for word in re.findall("[A-Za-z0-9]+", name)) or "X"


def unique_names(names: Iterable[str]) -> list[str]:
    """The names, of which a repeated one gets a number."""
    found: list[str] = []
    for name in names:
        candidates = (name if number == 1 else f"{name}{number}" for number in range(1, len(found) + 2))
        found.append(next(one for one in candidates if one not in found))
    return found


def as_yaml(document: Mapping[str, Any]) -> str:
    """A template as YAML, with short forms of intrinsic functions. Raises ToolkitFailure without PyYAML."""
    if find_spec("yaml") is None:
        raise ToolkitFailure(NEEDS_YAML.format(install=how_to_install("toolkit")))
    # Imported here: PyYAML is in an extra.
    import yaml

    class Dumper(yaml.SafeDumper):
        """Indents lists, and repeats what is there twice instead of naming it."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, indentless=False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(IntrinsicText, lambda dumper, one: dumper.represent_scalar(one.tag, str(one)))
    text: str = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return _quoted_intrinsics.sub(r"\1 \2", text)
