"""What does a SELECT return of an item? Each path's value, under the last name of its path.

`SELECT a.b, c[0]` gives attributes `b` and `c[0]`: a result is flat, unlike a ProjectionExpression's. Of paths that end alike
the last one counts. Source: what clients of the service read back (unconfirmed).
"""

from collections.abc import Sequence

from hashrange.expressions.projection import CompiledProjection
from hashrange.expressions.tree import DocumentPath
from hashrange.items.paths import resolve_path
from hashrange.items.types import Item


def compile_paths(paths: Sequence[DocumentPath]) -> CompiledProjection:
    """The projection that a SELECT's paths state."""
    projection = CompiledProjection([path.elements[:1] for path in paths])
    nested = [str(path.elements[0]) for path in paths if len(path.elements) > 1]
    if not nested:
        return projection
    places = [(_last_name(path.elements), path.elements) for path in paths]

    def project(item: Item) -> Item:
        projected: Item = {}
        for name, elements in places:
            value = resolve_path(item, elements)
            if value is not None:
                projected[name] = value
        return projected

    projection.project = project
    projection.nested_attributes = frozenset(nested)
    return projection


def _last_name(elements: tuple[str | int, ...]) -> str:
    """The last name of a path, with the positions behind it."""
    positions = ""
    for element in reversed(elements):
        if isinstance(element, str):
            return element + positions
        positions = f"[{element}]{positions}"
    raise AssertionError(elements)
