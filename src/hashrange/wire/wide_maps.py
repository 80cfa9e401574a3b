"""How does a decoded body become a request's struct?
In one call, except for maps and lists of very many attribute values, and maps of very many texts.

msgspec would copy such maps and lists in 20 to 30 ms for 66,000 values, without giving way, and check only that each
value is a map, or a text. This module makes that check, piece by piece, and puts them into the struct uncopied.
"""

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from hashrange.items.steps import walk

T = TypeVar("T")
Struct = type[msgspec.Struct]

WIDE = 2_048
"""Members of a map or list that are copied in under a millisecond; a map or list with more is *wide*."""
_STUBS: dict[Any, Any] = {dict[str, dict[str, Any]]: {}, list[dict[str, Any]]: [{}], dict[str, str]: {}}
"""Type of a wide map or list → stub that replaces it while the other members are converted. No declared least length
exceeds the stub's length."""


def convert_in_pieces(members: Any, kind: type[T]) -> T:
    """Like `msgspec.convert(members, kind)`, without copying wide maps and lists. Raises msgspec.ValidationError."""
    if not isinstance(members, dict) or not issubclass(kind, msgspec.Struct):
        return msgspec.convert(members, kind)
    stubs, structs, texts = _fields(kind)
    wide = {name: members[name] for name, stub in stubs.items() if _is_wide(members.get(name), stub)}
    for name, each in wide.items():
        _check_members(each, str if name in texts else dict)
    parts = {name: convert_in_pieces(members[name], structs[name]) for name in structs if members.get(name) is not None}
    narrow = msgspec.convert({**members, **parts, **{name: stubs[name] for name in wide}}, kind)
    return msgspec.structs.replace(narrow, **wide) if wide else narrow


def _is_wide(value: Any, stub: dict[str, Any] | list[Any]) -> bool:
    return isinstance(value, type(stub)) and len(value) > WIDE


def _check_members(values: dict[str, Any] | list[Any], member: type) -> None:
    for value in walk(values.values() if isinstance(values, dict) else values):
        if not isinstance(value, member):
            raise msgspec.ValidationError(f"a member is no {member.__name__}")


@cache
def _fields(kind: Struct) -> tuple[dict[str, Any], dict[str, Struct], set[str]]:
    """Return the stubs (`_STUBS`) of a struct's members that may be wide, the types of members that are structs,
    and the names of members that are maps of texts.
    """
    stubs, structs, texts = {}, {}, set()
    for field in msgspec.structs.fields(kind):
        bare, is_bounded = _bare(field.type)
        if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
            structs[field.name] = bare
        elif not is_bounded and bare in _STUBS:
            stubs[field.name] = _STUBS[bare]
            if bare == dict[str, str]:
                texts.add(field.name)
    return stubs, structs, texts


def _bare(annotation: Any) -> tuple[Any, bool]:
    """A field's type without None and metadata, and True if it is bounded: the field, its keys or its members have a
    greatest length or a least length above 1; or if the type is a union of several types.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        others = [one for one in arguments if one is not NoneType]
        return _bare(others[0]) if len(others) == 1 else (annotation, True)
    if origin is Annotated:
        bare, is_bounded = _bare(arguments[0])
        metas = [one for one in arguments[1:] if isinstance(one, msgspec.Meta)]
        return bare, is_bounded or any(one.max_length is not None or (one.min_length or 0) > 1 for one in metas)
    if origin in (dict, list):
        bares = [_bare(one) for one in arguments]
        return origin[tuple(bare for bare, _ in bares)], any(is_bounded for _, is_bounded in bares)
    return annotation, False
