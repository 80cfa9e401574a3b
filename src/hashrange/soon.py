"""What if a result is there at once? It is returned as it is, and no coroutine is made for it.

To make, step and end a coroutine takes 0.15 µs, the outermost one 0.35, and a GetItem takes 11 µs in all. A store that need not wait answers
with the row itself, and the operation with its reply; only whoever has to wait makes a coroutine. See docs/adr/0036-soon.md.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, Union

T = TypeVar("T")
R = TypeVar("R")

Soon = Union[T, Coroutine[Any, Any, T]]  # noqa: UP007 - `|` takes no type variable here
"""A result, or a coroutine that brings it. Who cannot tell the two apart by the result's class asks `settled`."""


async def then(coming: Coroutine[Any, Any, T], tell: Callable[[T], R]) -> R:
    """What `tell` makes of a result that has to be waited for. Raises what bringing it raises."""
    return tell(await coming)


async def settled(soon: Soon[T]) -> T:
    """The result, waited for if it has to be. Raises what bringing it raises."""
    return await soon if isinstance(soon, Coroutine) else soon
