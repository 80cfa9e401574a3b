"""Which protocols does the HTTP listener speak? The admin API if it is on, DynamoDB JSON, plain HTTP. They are asked in this order unless X-Amz-Target decides."""

from hashrange.server.access import Access
from hashrange.server.clients import IN_THIS_PROCESS, Clients
from hashrange.server.forks import Forks
from hashrange.server.front import Front, WireProtocol
from hashrange.server.kept_snapshots import KeptSnapshots
from hashrange.server.misdirected_clients import OtherServiceHint
from hashrange.server.protocols.dynamodb_json.call import JsonCall
from hashrange.server.protocols.dynamodb_json.logged_call import LoggedCall
from hashrange.server.protocols.dynamodb_json.protocol import SIGNING_NAME, DynamoDBJson
from hashrange.server.protocols.plain import Plain
from hashrange.service.service import Service


def http_front(
    service: Service,
    access: Access,
    clients: Clients = IN_THIS_PROCESS,
    snapshots: KeptSnapshots | None = None,
    forks: Forks | None = None,
) -> Front:
    """Make the `Front` (`server/front.py`) that answers HTTP requests: those that a listener receives, or those of code in this process.

    `snapshots`, `forks`: those of a listener's admin API; a service without a listener can have no forks.
    """
    hint_other_service = OtherServiceHint([SIGNING_NAME])
    plain = Plain(hint_other_service)
    settings = service.settings
    make_call = LoggedCall if settings.access_log else JsonCall
    protocols: list[WireProtocol] = [
        DynamoDBJson(service.operations, access, plain, hint_other_service, make_call),
        plain,
    ]
    if settings.admin:
        # Imported here: most servers have no admin API, and start time counts.
        from hashrange.server.protocols.admin.endpoint import Serving  # noqa: PLC0415
        from hashrange.server.protocols.admin.protocol import Admin  # noqa: PLC0415

        serving = Serving(
            service, clients, snapshots or KeptSnapshots(), forks, started_at_seconds=service.clock.monotonic()
        )
        protocols.insert(0, Admin(serving))
    return Front(service, protocols)
