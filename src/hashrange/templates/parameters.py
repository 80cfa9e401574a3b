"""Which values do a template's parameters have? Those given, or the defaults, once they fit what it asks for."""

import re
from collections.abc import Mapping
from typing import Any

from hashrange.templates.texts import TemplateError
from hashrange.written.names import did_you_mean

LIST_TYPE = "CommaDelimitedList"
VALUE_LENGTH_MAX = 4096
"""CloudFormation's limit for a parameter's value, in bytes."""


def parameter_values(declared: Any, given: Mapping[str, str]) -> dict[str, str | list[str] | None]:
    """Name → value of each declared parameter; None if it has none. Raises TemplateError."""
    if not isinstance(declared or {}, dict):
        raise TemplateError("Parameters is no object.")
    unknown = sorted(given.keys() - (declared or {}).keys())
    if unknown:
        near = did_you_mean(unknown[0], declared or {})
        raise TemplateError(f"it has no parameter {unknown[0]}.{near}")
    return {name: _value_of(name, about, given.get(name)) for name, about in (declared or {}).items()}


def _value_of(name: str, about: Any, given: str | None) -> str | list[str] | None:
    if not isinstance(about, dict) or not isinstance(about.get("Type"), str):
        raise TemplateError(f"Parameters.{name} has no Type, such as String.")
    kind = about["Type"]
    default = about.get("Default")
    if kind.startswith("AWS::SSM::Parameter::Value") and given is None:
        return None  # its default is a name in the parameter store
    if given is None and default is None:
        return None
    text = scalar_text(default) if given is None else given
    is_list = kind == LIST_TYPE or kind.startswith("List<")
    values = [one.strip() for one in text.split(",")] if is_list else [text]
    for value in values:
        fault = _fault_of(kind, about, value) or (_pattern_fault(about, value) if given is not None else None)
        if fault:
            description = about.get("ConstraintDescription")
            raise TemplateError(
                f'Parameters.{name} is "{value}"; it {fault}.{f" {description}" if description else ""}'
            )
    return values if is_list else text


def _fault_of(kind: str, about: Mapping[str, Any], value: str) -> str | None:
    if len(value) > VALUE_LENGTH_MAX:
        return f"may have at most {VALUE_LENGTH_MAX:,} characters"
    allowed = about.get("AllowedValues")
    if isinstance(allowed, list) and value not in (texts := [scalar_text(one) for one in allowed]):
        return f"must be one of {', '.join(texts)}"
    if kind in {"Number", "List<Number>"}:
        return _number_fault(about, value)
    least, most = _bound(about, "MinLength"), _bound(about, "MaxLength")
    if (least is not None and len(value) < least) or (most is not None and len(value) > most):
        return f"must have {_range(least, most)} characters"
    return None


def _pattern_fault(about: Mapping[str, Any], value: str) -> str | None:
    """To be asked only of values that the person at the command gives: a match may take for ever, and nothing else runs
    meanwhile. The defaults of a template fit its patterns, or the service would refuse it.
    """
    pattern = about.get("AllowedPattern")
    if isinstance(pattern, str) and not _matches(pattern, value):
        return f"must match {pattern}"
    return None


def _number_fault(about: Mapping[str, Any], value: str) -> str | None:
    try:
        number = float(value)
    except ValueError:
        return "must be a number"
    least, most = _bound(about, "MinValue"), _bound(about, "MaxValue")
    if (least is not None and number < least) or (most is not None and number > most):
        return f"must be {_range(least, most)}"
    return None


def _bound(about: Mapping[str, Any], name: str) -> float | None:
    try:
        return float(about[name]) if name in about else None
    except (TypeError, ValueError):
        raise TemplateError(f"{name} of a parameter is no number.") from None


def _range(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return f"at most {most:g}" if least is None else f"at least {least:g}"
    return f"{least:g} to {most:g}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:
        return True  # the patterns of Java, which the service has, know more


def scalar_text(value: Any) -> str:
    """A scalar as the service writes it into texts."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
