"""Which types and constraints does a request struct declare? A tree of shapes, in the terms of the API model.

The struct is the single declaration: JSON types, required members, bounds and enumerations are read from its
fields, once per struct. No request is read here. `Meta(extra=…)` holds what annotations cannot express:

    pattern   a regular expression that the fast decoder does not check; `^…$` is implied
    arn       True: pattern and name_max_length do not apply to a value that starts with "arn:"
    name_min_length  least length of a value that is not empty, if another constraint has a wording for empty ones
    name_max_length  greatest length of a value that does not start with "arn:"
    enumeration      allowed words of a text that the operation checks itself
    shape     "AttributeValue", "AttributeMap": attribute values; "Integer", "Long", "Double": the kind of number;
              "Blob": base64 text
    values    a struct: the values of a map that the fast decoder leaves undecoded

A struct has the name of its shape in the API model, unless it says another one in a class variable `api_name`. An `int`
without a named shape is a Long, as nearly all numbers of the API model are.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from hashrange.limits import STRUCTURES_BY_NAME_MAX, STRUCTURES_MAX

ShapeKind = Literal[
    "String",
    "Boolean",
    "Integer",
    "Long",
    "Double",
    "Blob",
    "List",
    "Map",
    "Structure",
    "AttributeValue",
    "Time",
    "Any",
]
"""No member of DynamoDB's or Lambda's requests is a Time or Any."""


class Bounds(NamedTuple):
    """Constraints of one value; None, or an empty enumeration, is no constraint. Lengths are characters or members."""

    min_length: int | None = None
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    is_arn_allowed: bool = False
    """True if a value that starts with "arn:" need not match `pattern` or `name_max_length`."""
    name_min_length: int | None = None
    name_max_length: int | None = None
    enumeration: tuple[str, ...] = ()
    """Allowed words, in the order in which the service lists them."""


class Shape(NamedTuple):
    """The declared type and constraints of one value."""

    kind: ShapeKind
    name: str = ""
    """A structure's name in the API model."""
    bounds: Bounds = Bounds()
    member: "Shape | None" = None
    """Shape of a list's members or a map's values."""
    keys: Bounds | None = None
    """Constraints of a map's keys; None if there are none."""
    members: "tuple[Member, ...]" = ()
    """A structure's members, in the order in which their faults are reported."""
    inner: "dict[str, Shape] | None" = None
    """Shapes of a structure's members, by name."""
    length_max: int | None = None
    """Greatest length: declared in `bounds`, or our own bound for lists and maps of structures; None: unbounded."""
    is_free: bool = False
    """True if neither the value nor anything inside it has constraints."""
    is_cuttable: bool = False
    """True if the value, or something inside it, is a list or map of bounded length."""
    has_scalar: bool = False
    """True if the value, or something inside it, is a Time or Double, which forms may write as other types."""

    @property
    def element(self) -> "Shape":
        """Shape of the members of what is a list, or of the values of what is a map."""
        assert self.member is not None, "only lists and maps have elements"
        return self.member


class Member(NamedTuple):
    """One member of a structure."""

    name: str
    shape: Shape
    is_required: bool


ATTRIBUTE_VALUE = Shape("AttributeValue", "AttributeValue", is_free=True)
_ATTRIBUTE_MAP = Shape("Map", member=ATTRIBUTE_VALUE, is_free=True)
_SCALARS: dict[Any, ShapeKind] = {
    str: "String",
    bool: "Boolean",
    int: "Long",
    float: "Double",
    bytes: "Blob",
    datetime: "Time",
    Any: "Any",
}
_NAMED_SCALARS: dict[str, ShapeKind] = {"Integer": "Integer", "Long": "Long", "Double": "Double", "Blob": "Blob"}


@cache
def structure_of(struct: type[msgspec.Struct]) -> Shape:
    """The shape of a struct; its members are in the order of the struct's fields."""
    hints = get_type_hints(struct, include_extras=True)
    members = tuple(
        Member(field.encode_name, _shape_of(hints[field.name]), field.required)
        for field in msgspec.structs.fields(struct)
    )
    return Shape(
        "Structure",
        vars(struct).get("api_name", struct.__name__),
        members=members,
        inner={member.name: member.shape for member in members},
        is_free=not any(member.is_required or not member.shape.is_free for member in members),
        is_cuttable=any(member.shape.is_cuttable for member in members),
        has_scalar=any(member.shape.has_scalar for member in members),
    )


def _shape_of(annotation: Any) -> Shape:
    """The shape of a field's annotation, including its bounds; `| None` is ignored."""
    metas: list[msgspec.Meta] = []
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *extras = get_args(annotation)
            metas += [extra for extra in extras if isinstance(extra, msgspec.Meta)]
        elif origin in (Union, UnionType):
            (annotation,) = (option for option in get_args(annotation) if option is not NoneType)
        else:
            break
    extra: dict[str, Any] = {}
    for meta in metas:
        extra.update(meta.extra or {})
    return _bounded(_plain_shape(annotation, extra), _bounds_of(annotation, metas, extra))


def _bounded(shape: Shape, bounds: Bounds) -> Shape:
    """The shape with `bounds`, and with its fields that depend on them: `length_max`, `is_free`, `is_cuttable`."""
    length_max, member = bounds.max_length, shape.member
    if length_max is None and member is not None and member.kind == "Structure":
        length_max = STRUCTURES_MAX if shape.kind == "List" else STRUCTURES_BY_NAME_MAX
    is_container = shape.kind in ("List", "Map")
    is_free = shape.is_free if shape.kind == "Structure" else member is None or member.is_free
    return shape._replace(
        bounds=bounds,
        length_max=length_max,
        is_free=is_free and length_max is None and shape.keys is None and bounds == Bounds(),
        is_cuttable=shape.is_cuttable
        or (is_container and (length_max is not None or (member is not None and member.is_cuttable))),
        has_scalar=shape.has_scalar or shape.kind in ("Double", "Time") or (member is not None and member.has_scalar),
    )


def _plain_shape(annotation: Any, extra: dict[str, Any]) -> Shape:
    """The shape of an annotation, without its bounds."""
    named = extra.get("shape")
    if named == "AttributeValue":
        return ATTRIBUTE_VALUE
    if named == "AttributeMap":
        return _ATTRIBUTE_MAP
    if "values" in extra:
        return Shape("Map", member=structure_of(extra["values"]))
    if named in _NAMED_SCALARS:
        return Shape(_NAMED_SCALARS[named])
    if annotation in _SCALARS:
        return Shape(_SCALARS[annotation])
    origin = get_origin(annotation)
    if origin is Literal:
        return Shape("String")
    if origin in (list, tuple, Sequence):
        return Shape("List", member=_shape_of(get_args(annotation)[0]))
    if origin is dict:
        key, value = get_args(annotation)
        member = _shape_of(value)
        if member.kind == "List":  # in a map, lists have no bound of our own, because the map reports their lengths
            member = member._replace(length_max=member.bounds.max_length)
        return Shape("Map", member=member, keys=None if key is str else _shape_of(key).bounds)
    assert isinstance(annotation, type), annotation
    assert issubclass(annotation, msgspec.Struct), annotation
    return structure_of(annotation)


def _bounds_of(annotation: Any, metas: list[msgspec.Meta], extra: dict[str, Any]) -> Bounds:
    bounds = Bounds(
        is_arn_allowed=extra.get("arn", False),
        name_min_length=extra.get("name_min_length"),
        name_max_length=extra.get("name_max_length"),
        enumeration=extra.get("enumeration", ()),
    )
    for meta in metas:
        assert meta.gt is meta.lt is meta.multiple_of is None, "not a constraint of the API model"
        bounds = bounds._replace(
            min_length=bounds.min_length if meta.min_length is None else meta.min_length,
            max_length=bounds.max_length if meta.max_length is None else meta.max_length,
            minimum=bounds.minimum if meta.ge is None else int(meta.ge),
            maximum=bounds.maximum if meta.le is None else int(meta.le),
            pattern=bounds.pattern if meta.pattern is None else meta.pattern.removeprefix("^").removesuffix("$"),
        )
    if "pattern" in extra:
        bounds = bounds._replace(pattern=extra["pattern"])
    if get_origin(annotation) is Literal:
        bounds = bounds._replace(enumeration=get_args(annotation))
    return bounds
