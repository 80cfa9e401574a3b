"""How do callers in the same process use the services beside DynamoDB?
By a call whose members and reply are Python values, without a signature.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, ServiceApi
from hashrange.errors import StorageError
from hashrange.server.protocols.aws_forms.replies import present_members
from hashrange.server.protocols.aws_forms.requests import Named, Requests, unserved_error
from hashrange.server.protocols.aws_forms.service_faults import ServiceFaults
from hashrange.server.protocols.aws_forms.shapes import MembersWrong
from hashrange.service.drive import in_turns
from hashrange.service.service import Service

CALLED_SERVICES = {"cloudwatch": "monitoring", "application-autoscaling": "application-autoscaling", "dax": "dax"}
"""Names of the services, as boto3 has them → names with which their requests are signed."""


class ServiceCalls:
    """Calls of the services of one `Service`. To be used on its event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._found: dict[str, tuple[ServiceApi, Requests]] = {}

    def _find(self, service: str) -> tuple[ServiceApi, Requests]:
        """The API of this service, and what reads its requests; made when first asked for. Raises ValueError."""
        if service not in self._found:
            signing_name = CALLED_SERVICES.get(service)
            if signing_name is None:
                services = ", ".join(("dynamodb", *CALLED_SERVICES))
                raise ValueError(f"a call goes to one of {services}, not to {service!r}.")
            background = self._service.background
            apis = background.dax.apis if service == "dax" else background.cloudwatch.apis
            api = next(api for api in apis if api.signing_name == signing_name)
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
        if served is None:
            raise unserved_error(named)
        try:
            request = requests.struct(served, members)
        except MembersWrong as wrong:
            raise (served.operation.wire.word or api.word)(wrong.fault) from None
        faults = None
        if self._service.drawing is not None:
            faults = ServiceFaults(self._service.drawing, api, operation)
        error = None if faults is None else faults.refusal()
        reply = None
        if error is None:
            running = served.operation.run(Caller(account, region), request)
            reply = await in_turns(running, self._service.workers, begins_now=True)
            await self._until_durable()
            error = None if faults is None else faults.carried_out()
        if faults is not None:
            await asyncio.sleep(faults.late_seconds)
            if faults.cut_share is not None:
                raise ConnectionError("The reply was lost.")
        if error is not None:
            raise error
        return present_members(reply)

    async def _until_durable(self) -> None:
        """Wait for the commits so far. Raises StorageError."""
        store = self._service.store
        position = store.position()
        if position <= store.durable_position():
            return
        ended: asyncio.Future[StorageError | None] = asyncio.get_running_loop().create_future()
        store.when_durable(position, lambda failure: None if ended.done() else ended.set_result(failure))
        failure = await ended
        if failure is not None:
            raise failure
