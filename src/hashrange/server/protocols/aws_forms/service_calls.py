"""How do callers in the same process use the services beside DynamoDB? By a call whose members and reply are Python values, without a signature."""

import asyncio
from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.errors import StorageError
from hashrange.server.protocols.aws_forms.replies import present_members
from hashrange.server.protocols.aws_forms.requests import Named, Requests, unserved_error
from hashrange.server.protocols.aws_forms.shapes import MembersWrong
from hashrange.service.drive import in_turns
from hashrange.service.service import Service

CALLED_SERVICES = {"cloudwatch": "monitoring", "application-autoscaling": "application-autoscaling", "dax": "dax"}
"""Names of the services, as boto3 has them → names with which their requests are signed."""


class ServiceCalls:
    """Calls of the services of one `Service`. To be used on its event loop."""

    def __init__(self, service: Service) -> None:
        self._store, self._workers = service.store, service.workers
        apis = service.background.apis
        self._apis = {
            name: api for name, signed in CALLED_SERVICES.items() for api in apis if api.signing_name == signed
        }
        self._requests = Requests(apis)

    async def call(
        self, service: str, account: str, region: str, operation: str, members: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Run an operation of a service in CALLED_SERVICES; returns the members of its reply once all commits before it are durable.

        `members`: as boto3 takes them; times are `datetime`, or seconds since 1970. Raises the ServiceError of a refusal, and StorageError.
        """
        api = self._apis.get(service)
        if api is None:
            services = ", ".join(("dynamodb", *CALLED_SERVICES))
            raise ValueError(f"a call goes to one of {services}, not to {service!r}.")
        named = Named("json", api, operation)
        served = self._requests.find(named)
        if served is None:
            raise unserved_error(named)
        try:
            request = self._requests.struct(served, members)
        except MembersWrong as wrong:
            raise (served.operation.word or api.word)(wrong.fault) from None
        running = served.operation.run(served.works_on, Caller(account, region), request)
        reply = await in_turns(running, self._workers, begins_now=True)
        await self._until_durable()
        return present_members(reply)

    async def _until_durable(self) -> None:
        """Wait for the commits so far. Raises StorageError."""
        position = self._store.position()
        if position <= self._store.durable_position():
            return
        ended: asyncio.Future[StorageError | None] = asyncio.get_running_loop().create_future()
        self._store.when_durable(position, lambda failure: None if ended.done() else ended.set_result(failure))
        failure = await ended
        if failure is not None:
            raise failure
