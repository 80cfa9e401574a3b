"""Which document is in a template's text? JSON or YAML → dicts, lists and scalars; YAML's short forms of functions,
such as !Ref, become the long ones.

YAML is read as CloudFormation reads it: no aliases, no merges, no dates, and a number that begins with 0 is a text.
Source: AWS CloudFormation user guide, *CloudFormation template format*.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from hashrange.errors import HashrangeError
from hashrange.messages.installing import how_to_install
from hashrange.written.values import place_of_json_fault

YAML_BYTES_MAX = 1024 * 1024
"""CloudFormation's limit for a template (`Template body size in an S3 object`)."""
JSON_BYTES_MAX = 16 * 1024 * 1024
"""A Terraform plan as JSON repeats every resource some four times."""
DEPTH_MAX = 100

_is_integer = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})").fullmatch
_is_float = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})?\.[0-9]{1,17}(?:[eE][-+]?[0-9]{1,3})?").fullmatch
_TRUE, _FALSE = {"true", "yes", "on"}, {"false", "no", "off"}
_NULL = {"", "~", "null"}
_YAML_TAG = "tag:yaml.org,2002:"


class TemplateError(HashrangeError):
    """A template cannot be used. The message names the place, the reason and, where it is not plain, the remedy."""


def parse_template(text: bytes) -> dict[str, Any]:
    """The document of a template. Raises TemplateError."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TemplateError("it is UTF-16; save it as UTF-8.")
    stripped = text.removeprefix(b"\xef\xbb\xbf").strip()
    if not stripped:
        raise TemplateError("it is empty.")
    try:
        decoded = stripped.decode()
    except UnicodeDecodeError:
        raise TemplateError("it is not UTF-8; a template is a text in YAML or JSON.") from None
    document = _read_json(decoded) if decoded.startswith("{") else _read_yaml(text)
    if not isinstance(document, dict):
        raise TemplateError("it holds no members such as Resources.")
    return document


def _read_json(text: str) -> Any:
    if len(text) > JSON_BYTES_MAX:
        raise TemplateError(f"it has more than {JSON_BYTES_MAX:,} bytes.")
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        raise TemplateError(f"it is no JSON{place_of_json_fault(text)}.") from None
    except RecursionError:
        raise TemplateError("it is nested too deeply.") from None
    except ValueError:
        raise TemplateError("a number in it has too many digits.") from None
    require_shallow(document)
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise TemplateError(f"an object has the name {_twice(names)} twice.")
    return members


def _twice(names: list[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _refuse_constant(name: str) -> NoReturn:
    raise TemplateError(f"{name} is no number of JSON.")


def require_shallow(value: Any) -> None:
    """Raise TemplateError if a value is nested more deeply than the functions here go."""
    layer, depth = [value], 0
    while layer:
        depth += 1
        if depth > DEPTH_MAX:
            raise TemplateError(f"it is nested more than {DEPTH_MAX} levels deep.")
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]


# --- YAML -----------------------------------------------------------------------------------------


def _read_yaml(text: bytes) -> Any:
    if len(text) > YAML_BYTES_MAX:
        raise TemplateError(f"it has more than {YAML_BYTES_MAX:,} bytes, the longest template of CloudFormation.")
    try:
        import yaml  # noqa: PLC0415 - an extra, and start time counts
    except ImportError:
        raise TemplateError(
            f"it is YAML, and PyYAML is not installed. Install it: {how_to_install('toolkit')}."
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = iter(yaml.parse(text, Loader=loader))
        reader = _Reader(events)
        next(events)  # the stream begins
        if type(next(events)).__name__ != "DocumentStartEvent":
            raise TemplateError("it is empty.")
        document = reader.value(next(events), 1)
        next(events)  # the document ends
        if type(next(events)).__name__ == "DocumentStartEvent":
            raise TemplateError("it holds several documents; a template is one.")
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        lines = text.decode(errors="replace").splitlines()
        if mark and any(line[mark.column :].startswith("\t") for line in lines[mark.line : mark.line + 1]):
            problem = "a tab stands there, and YAML is indented with blanks only"
        raise TemplateError(f"it is no YAML{place}{f': {problem}' if problem else ''}.") from None
    return document


class _Reader:
    """Builds values from PyYAML's events. The parser does not recurse, so that depth can be limited here."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events

    def value(self, event: Any, depth: int) -> Any:
        """The value that begins with `event`."""
        kind = type(event).__name__
        if kind == "AliasEvent":
            _refuse(event, f"it uses the alias *{event.anchor}, and CloudFormation takes none; write the value out")
        if depth > DEPTH_MAX:
            _refuse(event, f"it is nested more than {DEPTH_MAX} levels deep")
        if kind == "ScalarEvent":
            return _scalar(event)
        value = self._sequence(depth) if kind == "SequenceStartEvent" else self._mapping(depth)
        return _tagged(event, value)

    def _sequence(self, depth: int) -> list[Any]:
        found = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            found.append(self.value(event, depth + 1))
        return found

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            if type(event).__name__ != "ScalarEvent":
                _refuse(event, "a name is a list, an object or an alias; names are texts")
            if event.value == "<<" and event.implicit[0]:
                _refuse(event, "it merges with <<, and CloudFormation does not; write the members out")
            if event.value in found:
                _refuse(event, f"the name {event.value} stands here a second time")
            found[event.value] = self.value(next(self._events), depth + 1)
        return found


def _scalar(event: Any) -> Any:
    if event.tag is None or event.tag == "!":
        return _plain(event.value) if event.implicit[0] and event.tag is None else event.value
    if event.tag == f"{_YAML_TAG}str":
        return event.value
    if event.tag in {f"{_YAML_TAG}{name}" for name in ("int", "float", "bool", "null")}:
        return _plain(event.value)
    return _tagged(event, event.value)


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    lowered = text.lower()
    if lowered in _NULL:
        return None
    if lowered in _TRUE or lowered in _FALSE:
        return lowered in _TRUE
    if _is_integer(text):
        return int(text)
    return float(text) if _is_float(text) else text


def _tagged(event: Any, value: Any) -> Any:
    """The value below a tag: a function's long form."""
    tag = event.tag
    if tag is None or tag in {"!", f"{_YAML_TAG}map", f"{_YAML_TAG}seq"}:
        return value
    if not tag.startswith("!"):
        _refuse(event, f"CloudFormation takes no {tag.removeprefix(_YAML_TAG)} of YAML")
    name = tag[1:]
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": value}


def _refuse(event: Any, reason: str) -> NoReturn:
    raise TemplateError(f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}: {reason}.")
