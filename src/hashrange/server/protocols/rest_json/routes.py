"""Which operation of Lambda's API does a request call? It is found by method and path, served or not.

Segments of a path are percent-decoded one by one, so a text such as an ARN may hold any character.
A slash at the end, which older SDKs send, does not matter.
"""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from hashrange.aws_services.operation import Operation
from hashrange.functions.api.operation import RestWire
from hashrange.server.protocols.rest_json.api_paths import API_PATHS


class Route(NamedTuple):
    """Where one operation of the API is found."""

    name: str
    segments: tuple[str, ...]
    """Segments of the path; one in braces stands for any text that is not empty."""
    query: str
    """Text that a request's query must have between its ampersands; empty for nearly all operations."""
    operation: Operation[RestWire] | None
    """None if Hashrange does not serve the operation."""


class Routes:
    """The routes of all operations of the API."""

    def __init__(self, served: Iterable[Operation[RestWire]]) -> None:
        routes = {name: _route(name, path, None) for name, (_, path) in API_PATHS.items()}
        routes |= {one.name: _route(one.name, one.wire.path, one) for one in served}
        self._routes: dict[tuple[str, int], list[Route]] = {}
        """Method and number of segments → routes; first those that need a query."""
        for route in sorted(routes.values(), key=lambda one: not one.query):
            method = API_PATHS[route.name][0] if route.operation is None else route.operation.wire.method
            self._routes.setdefault((method, len(route.segments)), []).append(route)
        self._beginnings = {route.segments[:2] for route in routes.values()}

    def is_path(self, url: bytes) -> bool:
        """True if the URL begins with a date and a kind of resource, as in Lambda's API: `/2015-03-31/functions`."""
        return url.startswith(b"/20") and _segments(_parts(url)[0])[:2] in self._beginnings

    def find(self, method: str, url: bytes) -> tuple[Route, dict[str, str]] | None:
        """The route of a request, and its path's texts by the names in braces.
        None if the API has no such operation.
        """
        path, query = _parts(url)
        segments = _segments(path)
        for route in self._routes.get((method, len(segments)), ()):
            if not route.query or route.query in query.split("&"):
                texts = _texts(route.segments, segments)
                if texts is not None:
                    return route, texts
        return None


def _route(name: str, path: str, operation: Operation[RestWire] | None) -> Route:
    path, _, query = path.partition("?")
    return Route(name, _segments(path), query, operation)


def _parts(url: bytes) -> tuple[str, str]:
    """Path and query of a URL, still encoded."""
    path, _, query = url.decode("latin-1").partition("?")
    return path, query


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.rstrip("/").split("/")[1:])


def _texts(pattern: tuple[str, ...], segments: tuple[str, ...]) -> dict[str, str] | None:
    """The texts in the place of names in braces, decoded; None if the segments do not fit the pattern."""
    found: dict[str, str] = {}
    for name, segment in zip(pattern, segments, strict=True):
        if name.startswith("{"):
            found[name[1:-1]] = unquote(segment)
        elif name != segment:
            return None
    return found if all(found.values()) else None
