"""Which endpoints does the admin API have? Those of `ENDPOINTS`, found by method and path."""

from hashrange.aws_services.operation import Operation
from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin import backups, clock, copies, faults, info, tables, transfers
from hashrange.server.protocols.admin.endpoint import PREFIX, AdminWire, Refused, shown_endpoint

ENDPOINTS: tuple[Operation[AdminWire], ...] = (
    *info.ENDPOINTS,
    *backups.ENDPOINTS,
    *transfers.ENDPOINTS,
    *clock.ENDPOINTS,
    *copies.ENDPOINTS,
    *faults.ENDPOINTS,
    *tables.ENDPOINTS,
)


def find_endpoint(method: str, path: str) -> tuple[Operation[AdminWire], list[str]]:
    """Return the endpoint of a method and path, and the path's texts at the endpoint's segments in capitals.

    Raises Refused if no endpoint has the path, or none of those with the path has the method.
    """
    segments = path.removeprefix(PREFIX).split("/")
    fitting = [one for one in ENDPOINTS if path.startswith(PREFIX) and _fits(_names(one), segments)]
    if not fitting:
        endpoints = ", ".join(map(shown_endpoint, ENDPOINTS))
        raise Refused(404, sentences.NO_ENDPOINT.format(path=path, endpoints=endpoints))
    for endpoint in fitting:
        if _method(endpoint) == method:
            names = _names(endpoint)
            return endpoint, [text for name, text in zip(names, segments, strict=True) if name.isupper()]
    methods = ", ".join(map(_method, fitting))
    sentence = sentences.WRONG_METHOD.format(path=path, methods=methods, method=method)
    raise Refused(405, sentence, f"Allow: {methods}\r\n".encode())


def _method(endpoint: Operation[AdminWire]) -> str:
    return endpoint.name.partition(" ")[0]


def _names(endpoint: Operation[AdminWire]) -> list[str]:
    """The segments of the path."""
    return endpoint.name.partition(" ")[2].split("/")


def _fits(names: list[str], segments: list[str]) -> bool:
    return len(names) == len(segments) and all(
        bool(text) if name.isupper() else name == text for name, text in zip(names, segments, strict=True)
    )
