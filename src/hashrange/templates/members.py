"""Which types have members of requests? CloudFormation takes "5" for a number and "true" for a boolean; APIs do not."""

from collections.abc import Mapping
from typing import Any

from hashrange.templates.late_values import late_names, readable
from hashrange.templates.parameters import scalar_text
from hashrange.templates.stack import LeftOut
from hashrange.templates.texts import TemplateError

INTEGERS = {
    "BatchSize", "DatapointsToAlarm", "EvaluationPeriods", "MaxCapacity", "MaxReadRequestUnits", "MaxWriteRequestUnits",
    "MaximumBatchingWindowInSeconds", "MaximumRecordAgeInSeconds", "MaximumRetryAttempts", "MemorySize", "MinCapacity",
    "ParallelizationFactor", "Period", "ReadCapacityUnits", "ReadUnitsPerSecond", "RecoveryPeriodInDays",
    "ScaleInCooldown", "ScaleOutCooldown", "SeedCapacity", "Size", "Timeout", "TumblingWindowInSeconds",
    "WriteCapacityUnits", "WriteUnitsPerSecond",
}  # fmt: skip
NUMBERS = {"StartingPositionTimestamp", "TargetValue", "Threshold"}
BOOLEANS = {
    "ActionsEnabled", "BisectBatchOnFunctionError", "DeletionProtectionEnabled", "DisableScaleIn", "Enabled",
    "PointInTimeRecoveryEnabled", "ReturnData", "SSEEnabled", "StreamEnabled",
}  # fmt: skip
TEXTS_BELOW = {"Variables", "Tags"}
"""Members whose values are all texts, whatever their names."""
AS_THEY_ARE = {"PolicyDocument"}
AT_AWS_ONLY = {
    "AssumeRolePolicyDocument", "CodeSigningConfigArn", "EphemeralStorage", "LoggingConfig", "PermissionsBoundary",
    "Policies", "RolePath", "Tracing", "TracingConfig", "VpcConfig",
}  # fmt: skip
"""Properties of functions that have no effect except at AWS."""


def typed(value: Any, where: str, name: str = "") -> Any:
    """A resolved value with the types that APIs take. `name`: of the member that it is. Raises TemplateError."""
    if name in AS_THEY_ARE or value is None:
        return value
    if name in TEXTS_BELOW:
        return _texts(value)
    if isinstance(value, dict):
        found = ((key, typed(one, f"{where}.{key}", key)) for key, one in value.items())
        return {key: one for key, one in found if one is not None}
    if isinstance(value, list):
        return [typed(one, f"{where}[{number}]", name) for number, one in enumerate(value)]
    if name in BOOLEANS:
        return _boolean(value, where)
    if name in INTEGERS or name in NUMBERS:
        return _number(value, where, is_whole=name in INTEGERS)
    return scalar_text(value)


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _texts(one) for name, one in value.items() if one is not None}
    return [_texts(one) for one in value] if isinstance(value, list) else scalar_text(value)


def _boolean(value: Any, where: str) -> bool:
    text = scalar_text(value).lower()
    if text not in {"true", "false"}:
        raise TemplateError(f"{where} is {readable(text)!r}; it must be true or false.")
    return text == "true"


def _number(value: Any, where: str, *, is_whole: bool) -> int | float:
    try:
        number = float(scalar_text(value)) if not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or number != number or abs(number) > 1e18 or (is_whole and number != int(number)):  # noqa: PLR0124 - NaN
        kind = "a whole number" if is_whole else "a number"
        raise TemplateError(f"{where} is {readable(scalar_text(value))!r}; it must be {kind}.")
    return int(number) if number == int(number) else number


def without_late(value: Any, known: set[str], where: str, left_out: list[LeftOut]) -> Any:
    """The value without members that hold late values whose names are not `known`; None if it is such a text.

    An object of a list, such as a tag, is there as a whole or not at all.
    """
    if isinstance(value, str):
        unknown = [name for name in late_names(value) if name not in known]
        if not unknown:
            return value
        left_out.append(LeftOut(where, readable(value), f"{unknown[0]} is not known here"))
        return None
    if isinstance(value, dict):
        found = ((name, without_late(one, known, f"{where}.{name}", left_out)) for name, one in value.items())
        return {name: one for name, one in found if one is not None}
    if isinstance(value, list):
        ones = [without_late(one, known, f"{where}[{number}]", left_out) for number, one in enumerate(value)]
        return [one for one, whole in zip(ones, value, strict=True) if _is_as_long(one, whole)]
    return value


def _is_as_long(one: Any, whole: Any) -> bool:
    """True if a value is there, with all members that are not None."""
    if not isinstance(one, dict):
        return one is not None
    return len(one) == sum(member is not None for member in whole.values())


def allowed_members(
    properties: Mapping[str, Any], allowed: frozenset[str], place: str, left_out: list[LeftOut]
) -> dict[str, Any]:
    """The properties that become members; the others are left out."""
    unknown = [name for name in properties if name not in allowed]
    left_out.extend(
        LeftOut(f"{place}.{name}", "property", "this property is not applied", name in AT_AWS_ONLY) for name in unknown
    )
    return {name: one for name, one in properties.items() if name in allowed}
