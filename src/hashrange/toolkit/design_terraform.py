"""Which Terraform makes a designed table? HCL with `aws_dynamodb_table` of the AWS provider, and what scales its units.

Keys of an index with several attributes are blocks `key_schema`, which the provider knows since version 6.29.0. Its
removal of one such index deleted the others too (its issue 46601), which is mended in 6.37 at the latest.
Source: the provider's changelog, and its documentation of `aws_dynamodb_table` and `aws_appautoscaling_policy`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.toolkit.design_cloudformation import named_scaling
from hashrange.toolkit.design_requests import ScaledUnits, key_schema_members
from hashrange.toolkit.table_design import AWS_MANAGED, AWS_OWNED, DesignedCapacity, DesignedIndex, TableDesign

PROVIDER = """terraform {{
  required_providers {{
    aws = {{
      source  = "hashicorp/aws"
      version = ">= {version}"
    }}
  }}
}}
"""
VERSION_OF_KEY_SCHEMA, VERSION_LEAST = "6.37", "6.0"
HCL_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
CODE_OF_16_BITS_MAX = 0xFFFF
"""Characters beyond this code have an escape of their own."""


class Hcl(str):
    """An expression that is no literal."""

    __slots__ = ()


HclMembers = list[tuple[str, Any]]
"""Arguments with their values, and blocks, whose value is a list of members again."""


def terraform(design: TableDesign) -> str:
    """The HCL."""
    label = hcl_label(design.name)
    has_long_keys = any(_has_long_key(index) for index in design.global_indexes)
    parts = [
        PROVIDER.format(version=VERSION_OF_KEY_SCHEMA if has_long_keys else VERSION_LEAST),
        _resource("aws_dynamodb_table", label, _table(design)),
    ]
    for name, scaled in named_scaling(design):
        parts += _scaling(label, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower(), scaled, design.name)
    table = f"aws_dynamodb_table.{label}"
    outputs = {"table_name": f"{table}.name", "table_arn": f"{table}.arn"}
    if design.stream_view is not None:
        outputs["stream_arn"] = f"{table}.stream_arn"
    parts += [f"output {hcl(name)} {{\n  value = {value}\n}}\n" for name, value in outputs.items()]
    return "\n".join(parts)


def _table(design: TableDesign) -> HclMembers:
    """The members of the resource."""
    encryption: HclMembers | None = None
    if design.encryption != AWS_OWNED:
        key = None if design.encryption == AWS_MANAGED else design.encryption
        encryption = _given([("enabled", True), ("kms_key_arn", key)])
    ttl = [("attribute_name", design.ttl_attribute), ("enabled", True)]
    recovery = [("enabled", True), ("recovery_period_in_days", design.recovery_days)]
    return _given(
        [
            ("name", design.name),
            ("billing_mode", "PAY_PER_REQUEST" if design.capacity is None else "PROVISIONED"),
            *_units(design.capacity),
            ("hash_key", design.partition_key.name),
            ("range_key", design.sort_key and design.sort_key.name),
            ("stream_enabled", design.stream_view and True),
            ("stream_view_type", design.stream_view),
            ("table_class", None if design.table_class == "STANDARD" else design.table_class),
            ("deletion_protection_enabled", design.is_deletion_protected or None),
            ("tags", dict(design.tags) or None),
            *(("attribute", [("name", name), ("type", letter)]) for name, letter in design.key_attributes().items()),
            *(("global_secondary_index", _index(index)) for index in design.global_indexes),
            *(("local_secondary_index", _index(index)) for index in design.local_indexes),
            ("ttl", design.ttl_attribute and ttl),
            ("point_in_time_recovery", design.recovery_days and recovery),
            ("server_side_encryption", encryption),
            ("lifecycle", _ignored_changes(design)),
        ]
    )


def _given(members: HclMembers) -> HclMembers:
    """The members that have a value."""
    return [(name, value) for name, value in members if value is not None]


def _ignored_changes(design: TableDesign) -> HclMembers | None:
    """What auto scaling changes, which the next `apply` must not change back."""
    scaled = [one.resource for _, one in named_scaling(design)]
    if not scaled:
        return None
    names = ["read_capacity", "write_capacity"] if design.name in scaled else []
    names += ["global_secondary_index"] if any("/" in one for one in scaled) else []
    return [("ignore_changes", Hcl(f"[{', '.join(names)}]"))]


def _index(index: DesignedIndex) -> HclMembers:
    """The members of an index's block."""
    is_long = _has_long_key(index)
    schema = key_schema_members(index.partition_keys, index.sort_keys) if is_long else []
    first = [keys[0].name if keys and not is_long else None for keys in (index.partition_keys, index.sort_keys)]
    return _given(
        [
            ("name", index.name),
            ("hash_key", first[0]),
            ("range_key", first[1]),
            ("projection_type", index.projection),
            ("non_key_attributes", list(index.included) or None),
            *_units(index.capacity),
            *(
                ("key_schema", [("attribute_name", one["AttributeName"]), ("key_type", one["KeyType"])])
                for one in schema
            ),
        ]
    )


def _has_long_key(index: DesignedIndex) -> bool:
    return len(index.partition_keys) > 1 or len(index.sort_keys) > 1


def _units(capacity: DesignedCapacity | None) -> HclMembers:
    if capacity is None:
        return []
    return [("read_capacity", capacity.read.least), ("write_capacity", capacity.write.least)]


def _scaling(label: str, name: str, scaled: ScaledUnits, table_name: str) -> Iterator[str]:
    """The scalable target of some units, and its policy."""
    place = f"table/${{aws_dynamodb_table.{label}.name}}{scaled.resource.removeprefix(table_name)}"
    own_name = f"{label}_{name}"
    yield _resource(
        "aws_appautoscaling_target",
        own_name,
        [
            ("service_namespace", "dynamodb"),
            ("resource_id", Hcl(f'"{place}"')),
            ("scalable_dimension", scaled.dimension),
            ("min_capacity", scaled.units.least),
            ("max_capacity", scaled.units.most),
        ],
    )
    target = f"aws_appautoscaling_target.{own_name}"
    yield _resource(
        "aws_appautoscaling_policy",
        own_name,
        [
            ("name", Hcl(f'"{scaled.metric}:{place}"')),
            ("policy_type", "TargetTrackingScaling"),
            *((one, Hcl(f"{target}.{one}")) for one in ("service_namespace", "resource_id", "scalable_dimension")),
            (
                "target_tracking_scaling_policy_configuration",
                [
                    ("target_value", scaled.units.target_percent),
                    ("predefined_metric_specification", [("predefined_metric_type", scaled.metric)]),
                ],
            ),
        ],
    )


def _resource(kind: str, label: str, members: HclMembers) -> str:
    return "\n".join([f"resource {hcl(kind)} {hcl(label)} {{", *_lines(members, "  "), "}", ""])


def _lines(members: HclMembers, indent: str) -> Iterator[str]:
    """The lines of members: equals signs stand below each other, as `terraform fmt` puts them."""
    arguments = [(name, value) for name, value in members if not _is_block(value)]
    width = max((len(name) for name, value in arguments if not isinstance(value, dict)), default=0)
    for name, value in arguments:
        if isinstance(value, dict):
            yield f"{indent}{name} = {{"
            keys = [hcl(key) for key in value]
            for key, one in zip(keys, value.values(), strict=True):
                yield f"{indent}  {key:<{max(map(len, keys))}} = {hcl(one)}"
            yield f"{indent}}}"
        else:
            yield f"{indent}{name:<{width}} = {hcl(value)}"
    for name, value in members:
        if _is_block(value):
            yield from ["", f"{indent}{name} {{", *_lines(value, f"{indent}  "), f"{indent}}}"]


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], tuple)


def hcl(value: Any) -> str:
    """A value as an expression of HCL."""
    if isinstance(value, Hcl):
        return value
    if isinstance(value, str):
        return f'"{"".join(map(_hcl_character, value))}"'.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(hcl, value))}]"
    return json.dumps(value)


def _hcl_character(character: str) -> str:
    """A character within a string; HCL knows fewer escapes than JSON."""
    if character in HCL_ESCAPES:
        return HCL_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= CODE_OF_16_BITS_MAX else f"\\U{code:08x}"


def hcl_label(name: str) -> str:
    """A name for a resource: letters, digits, underscores and hyphens, of which the first is no digit."""
    label = re.sub("[^a-z0-9_-]", "_", name.lower())
    return label if label[0].isalpha() or label[0] == "_" else f"_{label}"
