"""Which parts of an item does a SELECT return? Each path's value, under the last name of its path.

`SELECT a.b, c[0]` returns attributes `b` and `c[0]`: a flat result, unlike a ProjectionExpression's. Of paths with the
same last name, the last that has a value counts. Source: what clients of the service read back (unconfirmed).
"""

from collections.abc import Sequence

from hashrange.expressions.projection import CompiledProjection
from hashrange.expressions.tree import DocumentPath
from hashrange.items.paths import resolve_path
from hashrange.items.types import Item


def compile_paths(paths: Sequence[DocumentPath]) -> CompiledProjection:
    """Compile a SELECT's paths to a projection."""
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
    """A path's last name with the indices after it, such as `c[0]`."""
    positions = ""
    for element in reversed(elements):
        if isinstance(element, str):
            return element + positions
        positions = f"[{element}]{positions}"
    raise AssertionError(elements)
