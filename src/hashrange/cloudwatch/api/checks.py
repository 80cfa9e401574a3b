"""Which checks do CloudWatch's operations share? Required members, lengths, dimensions, tokens of pages;
and how faults of members are worded.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, NoReturn

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import ErrorShape, MemberFault, ServiceError
from hashrange.aws_services.paging import place_of_token
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.metric_id import Dimensions
from hashrange.messages import cloudwatch as sentences

_place = re.compile(r"(?<!member)\.(\d+)(?=\.|$)")
"""Finds the place of a list's member."""
IntegerFromOne = Annotated[int, Meta(ge=1, le=limits.CLOUDWATCH_INTEGER_MAX)]

ERRORS: Mapping[str, ErrorShape] = {
    "ConcurrentModificationException": ErrorShape(429, "ConcurrentModificationException"),
    "ConflictException": ErrorShape(409, "ConflictException"),
    "InternalServiceFault": ErrorShape(500, "InternalServiceError"),
    "InvalidFormatFault": ErrorShape(400, "InvalidFormat"),
    "InvalidParameterCombinationException": ErrorShape(400, "InvalidParameterCombination"),
    "InvalidParameterValueException": ErrorShape(400, "InvalidParameterValue"),
    "LimitExceededFault": ErrorShape(400, "LimitExceeded"),
    "MissingRequiredParameterException": ErrorShape(400, "MissingParameter"),
    "ResourceNotFound": ErrorShape(404, "ResourceNotFound"),
    "ResourceNotFoundException": ErrorShape(404, "ResourceNotFoundException"),
}
"""How CloudWatch sends its errors. Source: botocore's service model."""


class DimensionMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """A dimension in a request; a filter of dimensions need not have a value."""

    Name: str
    Value: str | None = None


def word_fault(fault: MemberFault) -> ServiceError:
    """CloudWatch's error for a request whose members are wrong."""
    if not fault.path:
        return ServiceError("SerializationException", sentences.MALFORMED.format(detail=fault.detail))
    path = _place.sub(r".member.\1", fault.path)
    if fault.kind == "missing":
        return missing(path)
    text = sentences.WRONG_TYPE if fault.kind == "type" else sentences.WRONG_VALUE
    return ServiceError("InvalidParameterValueException", text.format(path=path, detail=fault.detail))


def missing(path: str) -> ServiceError:
    """The error for a required member that is not there."""
    return ServiceError("MissingRequiredParameterException", sentences.REQUIRED.format(path=path))


def refuse_value(message: str) -> NoReturn:
    """Raise the error for a member whose value is not valid."""
    raise ServiceError("InvalidParameterValueException", message)


def check_length(path: str, text: str, most: int, least: int = 1) -> None:
    """Raise ServiceError unless the text has a length in these bounds."""
    if len(text) > most:
        refuse_value(sentences.TOO_LONG.format(path=path, limit=most + 1))
    if len(text) < least:
        refuse_value(sentences.TOO_SHORT.format(path=path, least=least))


def check_ascii(path: str, text: str) -> None:
    """Raise ServiceError for other characters than those of ASCII."""
    if not text.isascii():
        refuse_value(sentences.NOT_ASCII.format(path=path))


def check_printed(path: str, text: str) -> None:
    """Raise ServiceError for control characters, and for a text of spaces alone.
    Source: API reference, *PutMetricData* and *Dimension*.
    """
    if not text.isprintable():
        refuse_value(sentences.CONTROL_CHARACTER.format(path=path))
    if text.isspace():
        refuse_value(sentences.BLANK.format(path=path))


def check_one_of(path: str, value: str | None, allowed: Sequence[str]) -> None:
    """Raise ServiceError unless the value, if there is one, is one of these."""
    if value is not None and value not in allowed:
        refuse_value(sentences.NOT_ONE_OF.format(path=path, values=", ".join(allowed)))


def check_finite(path: str, value: float) -> None:
    """Raise ServiceError for NaN and infinite numbers."""
    if not math.isfinite(value):
        named = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        refuse_value(sentences.NOT_A_NUMBER.format(path=path, value=named))


def check_metric(namespace: str, name: str, path: str = "") -> None:
    """Raise ServiceError for a namespace or a name that is too long."""
    check_length(f"{path}Namespace", namespace, limits.METRIC_NAME_LENGTH_MAX)
    check_length(f"{path}MetricName", name, limits.METRIC_NAME_LENGTH_MAX)


def dimensions_of(given: Sequence[DimensionMember] | None, path: str = "Dimensions") -> Dimensions:
    """The dimensions of one metric, sorted by name. Raises ServiceError."""
    found: dict[str, str] = {}
    if given is not None and len(given) > limits.METRIC_DIMENSIONS_MAX:
        refuse_value(sentences.TOO_MANY.format(path=path, most=limits.METRIC_DIMENSIONS_MAX))
    for place, one in enumerate(given or (), 1):
        name_path, value_path = f"{path}.member.{place}.Name", f"{path}.member.{place}.Value"
        if one.Value is None:
            raise missing(value_path)
        check_ascii(name_path, one.Name)
        check_length(name_path, one.Name, limits.METRIC_DIMENSION_NAME_LENGTH_MAX)
        check_ascii(value_path, one.Value)
        check_length(value_path, one.Value, limits.METRIC_DIMENSION_VALUE_LENGTH_MAX)
        if one.Name in found:
            refuse_value(sentences.DIMENSION_TWICE.format(name=one.Name, path=path))
        found[one.Name] = one.Value
    return tuple(sorted(found.items()))


def place_in(token: str | None) -> int:
    """Where a page begins, from a token of `part_from`; None: at the first. Raises ServiceError."""
    place = place_of_token(token)
    if place is None:
        raise ServiceError("InvalidNextToken", sentences.NEXT_TOKEN)
    return place
