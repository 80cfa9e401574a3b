"""What is wrong with a value, by a type that msgspec knows?
The first fault, in words for people; `values.py` calls it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
import msgspec.inspect as declared

from hashrange.written.names import did_you_mean, told_names

SHOWN_CHARACTERS_MAX = 100
UNTOLD = "it does not have the form that it needs."

ObjectWord = Literal["table", "object"]
"""What the format of a file calls names with values: TOML's word or JSON's."""
Checks = Mapping[type, tuple[Callable[[Any], bool], str]]
"""Type that msgspec does not know → whether a value is of it, and what such a value is."""

_WITH_PARTS = (declared.StructType, declared.DictType, declared.ListType, declared.VarTupleType, declared.CustomType)
"""Types of which no value without parts is."""
_Place = tuple[str | int, ...]


class _Fault(NamedTuple):
    place: _Place
    told: str
    """What is behind the place in the sentence."""


class _Words(NamedTuple):
    object: ObjectWord
    checks: Checks


def describe_fault(value: Any, type_: Any, word: ObjectWord, checks: Checks) -> str:
    """As `values.fault_in`."""
    try:
        fault = _fault_in(value, declared.type_info(type_), (), _Words(word, checks))
    except RecursionError:
        return "it is nested too deeply."
    return UNTOLD if fault is None else f"{_place_in_words(fault.place)} {fault.told}"


def _place_in_words(place: _Place) -> str:
    """`("credential", 1, "regions", 0)` → `regions 1 of credential 2`."""
    names: list[str] = []
    for part in place:
        if isinstance(part, str):
            names.append(part)
        else:
            names.append(f"{names.pop() if names else 'value'} {part + 1}")
    return " of ".join(reversed(names)) or "it"


def _fault_in(value: Any, info: declared.Type, place: _Place, words: _Words) -> _Fault | None:
    wanted, told = _unwrapped(info)
    match wanted:
        case declared.AnyType() | declared.RawType():
            return None
        case declared.UnionType():
            return _fault_in_union(value, wanted, told, place, words)
        case declared.StructType() if isinstance(value, dict):
            return _fault_in_struct(value, wanted, place, words)
        case declared.DictType() if isinstance(value, dict):
            found = (_fault_in(one, wanted.value_type, (*place, str(name)), words) for name, one in value.items())
            return next(filter(None, found), None)
        case declared.ListType() | declared.VarTupleType() if isinstance(value, list | tuple):
            return _fault_in_list(value, wanted, place, words)
        case declared.CustomType() if wanted.cls in words.checks:
            return None if words.checks[wanted.cls][0](value) else _wrong(value, info, place, words)
    return None if _fits(value, wanted) else _wrong(value, info, place, words)


def _unwrapped(info: declared.Type) -> tuple[declared.Type, str | None]:
    """The type itself, and its description if it has one."""
    told = None
    while isinstance(info, declared.Metadata):
        told = (info.extra_json_schema or {}).get("description") or told
        info = info.type
    return info, told


def _fault_in_union(
    value: Any, info: declared.UnionType, told: str | None, place: _Place, words: _Words
) -> _Fault | None:
    """The fault of a value that is of none of several types: that of the one which it comes near."""
    members = [one for one in info.types if not isinstance(one, declared.NoneType)]
    faults = [_fault_in(value, one, place, words) for one in members]
    if value is None and len(members) < len(info.types):
        return None
    if None in faults:
        return None
    inner = next((fault for fault in faults if fault is not None and len(fault.place) > len(place)), None)
    if inner is not None or len(members) == 1:
        return inner or faults[0]
    expected = told or " or ".join(_expected(one, words) for one in members)
    return _Fault(place, f"is {show_value(value, words.object)}; it must be {expected}.")


def _fault_in_struct(value: dict[Any, Any], info: declared.StructType, place: _Place, words: _Words) -> _Fault | None:
    fields = {field.encode_name: field for field in info.fields}
    unknown = [str(name) for name in value if name not in fields]
    if info.forbid_unknown_fields and unknown:
        name = unknown[0][:SHOWN_CHARACTERS_MAX]
        known = sorted(fields)
        return _Fault(
            place, f"has no member {name}.{did_you_mean(name, known) or f' Its members are {told_names(known)}.'}"
        )
    for name, field in fields.items():
        if name in value:
            fault = _fault_in(value[name], field.type, (*place, name), words)
            if fault is not None:
                return fault
        elif field.required:
            return _Fault(place, f"lacks the member {name}: it must be {_expected(field.type, words)}.")
    return None


def _fault_in_list(
    value: Sequence[Any], info: declared.ListType | declared.VarTupleType, place: _Place, words: _Words
) -> _Fault | None:
    least, most = info.min_length or 0, info.max_length
    if len(value) < least or (most is not None and len(value) > most):
        return _Fault(place, f"has {len(value):,} values; it must be {_expected(info, words)}.")
    found = (_fault_in(one, info.item_type, (*place, number), words) for number, one in enumerate(value))
    return next(filter(None, found), None)


def _wrong(value: Any, declared_as: declared.Type, place: _Place, words: _Words) -> _Fault:
    info, told = _unwrapped(declared_as)
    is_secret = isinstance(declared_as, declared.Metadata) and (declared_as.extra or {}).get("is_secret")
    if is_secret and value not in ("", None):
        return _Fault(place, f"is not shown, because it may be secret; it must be {told or _expected(info, words)}.")
    if isinstance(info, declared.LiteralType) and isinstance(value, str):
        near = did_you_mean(value, [str(one) for one in info.values])
        if near:
            return _Fault(place, f"is {show_value(value, words.object)}, which is none of its values.{near}")
    return _Fault(place, f"is {show_value(value, words.object)}; it must be {told or _expected(info, words)}.")


def _fits(value: Any, info: declared.Type) -> bool:
    """True if a value that holds no others is of the type."""
    match info:
        case declared.BoolType():
            return isinstance(value, bool)
        case declared.NoneType():
            return value is None
        case declared.IntType() | declared.FloatType():
            is_number = isinstance(value, int if isinstance(info, declared.IntType) else int | float)
            return is_number and not isinstance(value, bool) and _is_within(value, info)
        case declared.StrType():
            is_long = isinstance(value, str) and len(value) >= (info.min_length or 0)
            is_short = is_long and (info.max_length is None or len(value) <= info.max_length)
            return is_short and (info.pattern is None or re.search(info.pattern, value) is not None)
        case declared.LiteralType():
            return value in info.values
        case declared.DateTimeType():
            return isinstance(value, datetime) or (isinstance(value, str) and _is_time(value))
    return not isinstance(info, _WITH_PARTS)


def _is_within(value: float, info: declared.IntType | declared.FloatType) -> bool:
    return (  # not so for NaN
        (info.ge is None or value >= info.ge)
        and (info.gt is None or value > info.gt)
        and (info.le is None or value <= info.le)
        and (info.lt is None or value < info.lt)
    )


def _is_time(text: str) -> bool:
    try:
        msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        return False
    return True


def _expected(info: declared.Type, words: _Words) -> str:
    """What a value of the type is, for people."""
    info, told = _unwrapped(info)
    if told is not None:
        return told
    match info:
        case declared.BoolType():
            return "true or false"
        case declared.IntType() | declared.FloatType():
            kind = "a whole number" if isinstance(info, declared.IntType) else "a number"
            return f"{kind}{_bounds(info)}"
        case declared.StrType():
            return _expected_text(info)
        case declared.LiteralType():
            return _one_of([f'"{one}"' if isinstance(one, str) else str(one) for one in info.values])
        case declared.UnionType():
            return " or ".join(_expected(one, words) for one in info.types if not isinstance(one, declared.NoneType))
        case declared.ListType() | declared.VarTupleType():
            return _expected_list(info)
        case declared.DateTimeType():
            return "a time, such as 2026-12-31T23:59:59Z"
        case declared.CustomType() if info.cls in words.checks:
            return words.checks[info.cls][1]
    return "an object" if words.object == "object" else "a table"


def _expected_list(info: declared.ListType | declared.VarTupleType) -> str:
    least, most = info.min_length or 0, info.max_length
    if most is not None:
        return f"a list of {f'{least:,} to' if least else 'at most'} {most:,} values"
    return f"a list of at least {least:,} values" if least else "a list"


def _expected_text(info: declared.StrType) -> str:
    least, most = info.min_length or 0, info.max_length
    if most is not None:
        return f"text of {least or 'at most'} {f'to {most:,}' if least else f'{most:,}'} characters"
    return "text that is not empty" if least == 1 else f"text of at least {least:,} characters" if least else "text"


def _bounds(info: declared.IntType | declared.FloatType) -> str:
    ge, gt, le = (None if one is None else f"{one:,.15g}" for one in (info.ge, info.gt, info.le))
    if ge is not None and le is not None:
        return f" from {ge} to {le}"
    if gt is not None:
        return f" above {gt}" + ("" if le is None else f", and at most {le}")
    if ge is not None:
        return f" of at least {ge}"
    return "" if le is None else f" of at most {le}"


def _one_of(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


def show_value(value: Any, word: ObjectWord) -> str:
    """A value as its author wrote it, cut where it is long; of values with parts, what they are."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            cut = value if len(value) <= SHOWN_CHARACTERS_MAX else f"{value[:SHOWN_CHARACTERS_MAX]}…"
            return f'"{cut}"'
        case dict():
            return "an object" if word == "object" else "a table"
        case list() | tuple():
            return "a list"
        case int() if abs(value) >= 10**SHOWN_CHARACTERS_MAX:
            return "a very large number"
        case int() | float():
            return str(value)
    return str(value)[:SHOWN_CHARACTERS_MAX]
