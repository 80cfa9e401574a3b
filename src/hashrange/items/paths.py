"""Which value of an item does a document path name? Reads only; a path without a value is never an error here.

Source: service behaviour, captures to Oct 2026: missing attributes, wrong containers and indexes out of range all mean
*no value*.
"""

from hashrange.items.types import Item, Value

Path = tuple[str | int, ...]
"""A document path: attribute name, then names (into maps) and positions (into lists), outermost first."""


def resolve_path(item: Item, path: Path) -> Value | None:
    """The value at `path`, or None. 0.1 µs per element of the path."""
    value: Value | None = item.get(path[0])  # type: ignore[arg-type]
    for element in path[1:]:
        if value is None:
            return None
        if element.__class__ is str:
            attributes = value.get("M")
            value = None if attributes is None else attributes.get(element)
        else:
            elements = value.get("L")
            value = (
                elements[element]
                if elements is not None and element < len(elements)  # type: ignore[operator]
                else None
            )
    return value
