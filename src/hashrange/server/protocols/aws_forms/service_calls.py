"""How do callers in the same process use the services beside DynamoDB?
By a call whose members and reply are Python values, without a signature.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from hashrange.aws_services.operation import Caller, MemberFault, ServiceApi, ServiceError
from hashrange.errors import ApiError, Malformed
from hashrange.messages.aws_forms import NO_JSON, SERVICE_FAILED
from hashrange.operations.meter import NOTHING_USED
from hashrange.server.protocols.aws_forms.replies import present_members
from hashrange.server.protocols.aws_forms.requests import Named, Requests
from hashrange.server.protocols.aws_forms.shapes import MembersWrong
from hashrange.server.protocols.values import ValuesCall
from hashrange.service.call import Call, CallKind
from hashrange.service.service import Service

CALLED_SERVICES = {"cloudwatch": "monitoring", "application-autoscaling": "application-autoscaling", "dax": "dax"}
"""Names of the services, as boto3 has them → names with which their requests are signed."""


class MembersCall(ValuesCall):
    """One request, whose members have become a struct already: it has no body."""

    kind: ClassVar[CallKind] = "service"
    failed_code: str = ""
    """Code of the error that says that the service has failed."""

    def done(self, reply: Any) -> None:
        """Keep the members of the reply that have a value, until `send` is called."""
        self.reply = present_members(reply)

    def internal_error(self) -> ApiError:
        """The error that says that the service has failed."""
        return ServiceError(self.failed_code, SERVICE_FAILED)

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Return the error: there is no body that could have other faults."""
        return Call.first_fault(self, error)


class ServiceCalls:
    """Calls of the services of one `Service`. To be used on its event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._found: dict[str, tuple[ServiceApi, Requests]] = {}

    def _find(self, service: str) -> tuple[ServiceApi, Requests]:
        """The API of this service, and what reads its requests; made when first asked for. Raises ValueError."""
        if not isinstance(service, str) or service not in CALLED_SERVICES:
            services = ", ".join(("dynamodb", *CALLED_SERVICES))
            raise ValueError(f"a call goes to one of {services}, not to {service!r}.")
        if service not in self._found:
            signing_name = CALLED_SERVICES[service]
            api = self._service.api(signing_name)
            self._found[service] = (api, Requests([api]))
        return self._found[service]

    async def call(
        self, service: str, account: str, region: str, operation: str, members: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run an operation of a service in CALLED_SERVICES; returns the members of its reply once all
        commits before it are durable.

        `members`: as boto3 takes them; times are `datetime`, or seconds since 1970.
        Raises the ServiceError of a refusal, and StorageError.
        """
        api, requests = self._find(service)
        named = Named("json", api, operation)
        served = requests.find(named)
        try:
            _require_json(members)
            request = requests.struct(served, members)
        except MembersWrong as wrong:
            raise (served.wire.word or api.word)(wrong.fault) from None
        ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        caller = Caller(account, region)
        call: Call = MembersCall(
            caller, served, request, NOTHING_USED, 0, True, b"", ended, failed_code=api.internal_error
        )
        self._service.run(deque([call]))
        return await asyncio.shield(ended)  # whoever has left must not cancel what the call sets


def _require_json(members: Any) -> None:
    """Raise MembersWrong, as for a body, if JSON cannot hold the members, such as a text with half a surrogate pair.
    Objects that JSON has no type for are told with their member when it is converted.
    """
    try:
        msgspec.json.encode(members, enc_hook=lambda _: None)
    except (TypeError, ValueError, RecursionError):
        raise MembersWrong(MemberFault("type", "", NO_JSON)) from None
