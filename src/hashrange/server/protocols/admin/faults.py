"""`faults`: which faults do requests meet? Set them, show them with a report of what was met,
or remove them (docs/testing/faults.md).
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.faults.fault import FAULTS_MAX, Faults, FaultsError, checked
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Refused, Serving, at_once, body_refusal
from hashrange.service.fault_feature import FAULTS, NO_FAULTS
from hashrange.wire.piecewise import decode_in_pieces, free

TOLD_MAX = 1000


class FaultsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: the faults that take the place of all earlier ones."""

    faults: msgspec.Raw
    """A list of `GivenFaults`, which is read where work can give way."""
    seed: int = 0


class GivenFaults(msgspec.Struct, frozen=True):
    """The faults of a request."""

    faults: Annotated[tuple[dict[str, Any], ...], Meta(max_length=FAULTS_MAX)]


class ReportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: which part of the report is returned."""

    after: Annotated[int, Meta(ge=0)] = 0
    """Number of the last entry that the client has read; the reply begins with the next one."""


async def set_faults(serving: Serving, request: FaultsRequest) -> dict[str, object]:
    """From now on, let requests meet these faults, drawn anew from the seed.
    Gives way. Raises Refused for a fault that cannot be met.
    """
    decoded: Any = None
    try:
        decoded = decode_in_pieces(bytes(request.faults), msgspec.json.decode)
        some = decoded[: FAULTS_MAX + 1] if isinstance(decoded, list) else decoded
        given = msgspec.convert({"faults": some}, GivenFaults)
        faults = checked(given.faults, request.seed)
        serving.service.features.part(FAULTS).use(faults)
    except FaultsError as error:
        raise Refused(400, str(error)) from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise body_refusal(_SETTING, error) from None
    finally:
        if isinstance(decoded, list):
            free(decoded)
    return _told(faults)


async def tell_faults(serving: Serving, request: ReportRequest) -> dict[str, object]:
    """Return the faults, how often they were met in all, and at most TOLD_MAX entries of the report,
    those after `after`.
    """
    drawing = serving.service.requests.drawing
    report = [] if drawing is None else drawing.report[request.after : request.after + TOLD_MAX]
    return {
        **_told(NO_FAULTS if drawing is None else drawing.faults),
        "met": 0 if drawing is None else drawing.met,
        "report": report,
    }


async def clear_faults(serving: Serving, request: Nothing) -> dict[str, object]:
    """Let requests meet no faults."""
    serving.service.features.part(FAULTS).use(NO_FAULTS)
    return {}


def _told(faults: Faults) -> dict[str, object]:
    return {"faults": faults.faults, "seed": faults.seed if faults.faults else NO_FAULTS.seed}


_EXAMPLE = '{"faults": [{"kind": "throttle", "table": "orders", "share": 0.1}], "seed": 7}'
_SETTING = AdminWire(_EXAMPLE, 1024 * 1024)
ENDPOINTS = (
    Operation("POST faults", FaultsRequest, set_faults, _SETTING, is_eventual=at_once),
    Operation("GET faults", ReportRequest, tell_faults, AdminWire('{"after": 1000}'), is_eventual=at_once),
    Operation("DELETE faults", Nothing, clear_faults, AdminWire(), is_eventual=at_once),
)
