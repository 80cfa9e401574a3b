"""Which requests are for services that are not served here, and who answers them?
Another emulator, if there is a URL of one; otherwise they are refused.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from hashrange.messages import unserved as sentences
from hashrange.server.incoming import Respond
from hashrange.server.protocols.unserved.services import (
    UNNAMED,
    ServiceRefusal,
    UnservedService,
    formed,
    service_of,
    signing_name_of,
)
from hashrange.server.protocols.wire_protocol import Guard, WireProtocol
from hashrange.wire.http import HttpRequest

if TYPE_CHECKING:
    from hashrange.server.protocols.unserved.handing_on import OtherEmulator


class _ForOthers(WireProtocol):
    """Protocol of requests that are for services which are not served here."""

    def __init__(
        self,
        served: Collection[str],
        hint_other_service: Callable[[HttpRequest], None],
        emulator: "OtherEmulator | None",
    ) -> None:
        """`served`: signing names of the services that are served here. `emulator`: who answers for the others."""
        self._served = frozenset(served)
        self._emulator = emulator
        self.guard = Guard(answers_preflights=emulator is not None)
        self._hint_other_service = hint_other_service

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Refuse the request, or hand it on; returns None."""
        service = service_of(request) or UnservedService(UNNAMED, "rest-json")
        if self._emulator is not None:
            self._emulator.hand_on(request, respond, service)
            return
        self._hint_other_service(request)
        message = sentences.NOT_SERVED.format(service=service.name, switch=sentences.OWN_SWITCHES.get(service.name, ""))
        respond(*formed(request, service.form, ServiceRefusal(501, "NotImplemented", message)))


class SignedForOthers(_ForOthers):
    """Protocol of requests that are signed for another service, whatever their path is. It is asked first."""

    def claims(self, request: HttpRequest) -> bool:
        """True if the request is signed for a service that is not served here."""
        name = signing_name_of(request)
        return name is not None and name not in self._served


class UnsignedForOthers(_ForOthers):
    """Protocol of requests without a signature that are for another service.
    It is asked after all services that are served.

    If there is another emulator, it also gets whatever has a path, such as an object of S3 that everybody may read.
    """

    def claims(self, request: HttpRequest) -> bool:
        """True if a target, a path or a form shows another service."""
        if signing_name_of(request) is not None:
            return False
        has_path = request.url.partition(b"?")[0] != b"/"
        return service_of(request) is not None or (self._emulator is not None and has_path)
