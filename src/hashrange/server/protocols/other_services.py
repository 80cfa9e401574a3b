"""Which requests are those of STS, and of services that are features, such as CloudWatch? Known by their form;
the protocol that answers them is loaded with the first.
"""

import re
from typing import TYPE_CHECKING

from hashrange.features.late_code import LateCode
from hashrange.server.access import Access, sessions_for
from hashrange.server.incoming import Respond
from hashrange.server.protocols.unserved.services import FORM_TYPE
from hashrange.server.protocols.wire_protocol import Guard, WireProtocol
from hashrange.service.call import Call
from hashrange.service.features import FEATURES
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest

if TYPE_CHECKING:
    from hashrange.server.protocols.aws_forms.protocol import AwsForms

LAMBDA_SIGNING_NAME = "lambda"
"""Here, because servers without functions need the name too."""
OTHER_SIGNING_NAMES = (*(name for feature in FEATURES for name in feature.apis), "sts")
_is_cbor_path = re.compile(rb"/service/GraniteServiceVersion20100801/").match
_code = LateCode(
    "hashrange.server.protocols.aws_forms.protocol",
    "hashrange.sts.api.registry",
    *(module for feature in FEATURES if feature.apis or feature.adds for module in feature.code),
    "hashrange.server.dax.nodes",
)
"""What the protocol and the services' APIs consist of."""


class OtherServices(WireProtocol):
    """Protocol of the services beside DynamoDB that have no paths of their own."""

    guard = Guard(checks_signatures=True)

    def __init__(self, access: Access, service: Service) -> None:
        self._access = access
        self._service = service
        self._target_prefixes = tuple([f"{prefix}.".encode() for prefix in service.features.target_prefixes()])
        self._forms: AwsForms | None = None

    def claims(self, request: HttpRequest) -> bool:
        """True if the request is one of these services, even of an operation that does not exist."""
        target = request.header(b"x-amz-target")
        if target is not None:
            return target.startswith(self._target_prefixes)
        may_be_form = b"Action=" in request.url or (request.header(b"content-type") or b"").startswith(FORM_TYPE)
        if not may_be_form and _is_cbor_path(request.url) is None:
            return False
        return self._load().claims(request)

    def prepare(self, request: HttpRequest, respond: Respond) -> Call | None:
        """Return the call that a request becomes, or refuse it now and return None. May give way."""
        return self._load().prepare(request, respond)

    def _load(self) -> "AwsForms":
        if self._forms is None:
            _code.load()
            # Imported here: most servers are never asked by these services' clients, and start time counts.
            from hashrange.server.protocols.aws_forms.protocol import AwsForms  # noqa: PLC0415
            from hashrange.sts.api.registry import sts_api  # noqa: PLC0415

            sessions = sessions_for(self._access, self._service.clock)
            apis = [*self._service.apis(), sts_api(sessions)]
            self._forms = AwsForms(apis, self._access)
        return self._forms
