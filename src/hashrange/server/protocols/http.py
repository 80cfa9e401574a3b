"""Which protocols does the HTTP listener speak, and in which order are they asked unless X-Amz-Target decides?

Requests signed for services that are not served here, S3 if there is a folder of it, the admin API if it is on,
metrics, Lambda's API, the other services, requests without a signature for services that are not served, DynamoDB JSON,
plain HTTP.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hashrange.server.access import Access
from hashrange.server.clients import IN_THIS_PROCESS, Clients
from hashrange.server.copies import Forks, KeptSnapshots
from hashrange.server.front import Front
from hashrange.server.gate import Gate
from hashrange.server.host_names import HostNames
from hashrange.server.misdirected_clients import OtherServiceHint
from hashrange.server.protocols.dynamodb_json.call import JsonCall
from hashrange.server.protocols.dynamodb_json.protocol import SIGNING_NAME, DynamoDBJson
from hashrange.server.protocols.metrics_path import MetricsPath
from hashrange.server.protocols.other_services import LAMBDA_SIGNING_NAME, OTHER_SIGNING_NAMES, OtherServices
from hashrange.server.protocols.plain import Plain
from hashrange.server.protocols.rest_json.switched_off import LambdaSwitchedOff
from hashrange.server.protocols.unserved.protocol import SignedForOthers, UnsignedForOthers
from hashrange.server.protocols.wire_protocol import WireProtocol
from hashrange.service.cluster_refusals import sentence_on
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.triggers.feature import TRIGGERS

if TYPE_CHECKING:
    from hashrange.server.protocols.s3.protocol import S3Protocol
    from hashrange.server.protocols.unserved.handing_on import OtherEmulator

S3_SIGNING_NAME = "s3"
"""Here, because servers without a folder need no code of S3."""


def http_front(
    service: Service,
    access: Access,
    clients: Clients = IN_THIS_PROCESS,
    snapshots: KeptSnapshots | None = None,
    forks: Forks | None = None,
    describe_dax: Callable[[], list[dict[str, object]]] = list,
) -> Front:
    """Make the `Front` (`server/front.py`) that answers HTTP requests: those that a listener receives, or those of code
    in this process. Raises SettingUnusable.

    `describe_dax`: state of each node of DAX's clusters. `snapshots`, `forks`: those of a listener's admin API;
    a service without a listener can have no forks.
    """
    served = [SIGNING_NAME, LAMBDA_SIGNING_NAME, *OTHER_SIGNING_NAMES]
    hint_other_service = OtherServiceHint(served)
    settings = service.settings
    hosts = HostNames(settings.allowed_hosts, settings.host)
    make_call = JsonCall
    if settings.access_log:
        # Imported here: most servers write no access log, and start time counts.
        from hashrange.server.protocols.dynamodb_json.logged_call import LoggedCall  # noqa: PLC0415

        make_call = LoggedCall
    protocols: list[WireProtocol] = [DynamoDBJson(service.operations, access, hint_other_service, make_call), Plain()]
    emulator = _other_emulator(settings)
    if emulator is not None and service.features.loaded(TRIGGERS) is None:
        served.remove(LAMBDA_SIGNING_NAME)
    protocols[:0] = [OtherServices(access, service), UnsignedForOthers(served, hint_other_service, emulator)]
    protocols[:0] = _lambda_protocols(service, access, hint_other_service)
    protocols.insert(0, MetricsPath(service, clients, access.credentials))
    if settings.admin:
        # Imported here: most servers have no admin API, and start time counts.
        from hashrange.server.protocols.admin.endpoint import Serving  # noqa: PLC0415
        from hashrange.server.protocols.admin.protocol import Admin  # noqa: PLC0415

        serving = Serving(
            service, clients, snapshots or KeptSnapshots(), forks, service.clock.monotonic(), describe_dax
        )
        protocols.insert(0, Admin(serving, hosts))
    gate = Gate(
        hosts,
        settings.allowed_origins,
        is_tls=settings.tls_cert is not None,
        verifies_signatures=access.credentials is not None,
    )
    s3 = _own_s3(settings, access, gate)
    if s3 is not None:
        served.append(S3_SIGNING_NAME)
        protocols.insert(0, s3)
    protocols.insert(0, SignedForOthers(served, hint_other_service, emulator))
    end_waiting = (lambda: None) if emulator is None else emulator.end
    return Front(service, protocols, gate, clients, end_waiting, None if s3 is None else s3.take_body)


def _own_s3(settings: Settings, access: Access, gate: Gate) -> "S3Protocol | None":
    """The protocol of S3 over the folder of the settings. Raises SettingUnusable."""
    if settings.s3_folder is None and settings.s3_endpoint is None:
        return None
    # Imported here: most servers have no S3, and start time counts.
    from hashrange.s3.opening import require_one_s3  # noqa: PLC0415

    require_one_s3(settings)
    if settings.s3_folder is None:
        return None
    from hashrange.s3.folder import open_folder  # noqa: PLC0415
    from hashrange.server.protocols.s3.protocol import S3Protocol  # noqa: PLC0415

    return S3Protocol(open_folder(settings.s3_folder), access, gate)


def _other_emulator(settings: Settings) -> "OtherEmulator | None":
    """Who answers for the services that are not served here. Raises SettingUnusable."""
    if settings.others is None:
        return None
    # Imported here: most servers have no other emulator, and start time counts.
    from hashrange.functions.http_client import read_setting  # noqa: PLC0415
    from hashrange.server.protocols.unserved.handing_on import OtherEmulator  # noqa: PLC0415

    return OtherEmulator(read_setting("--others", settings.others))


def _lambda_protocols(service: Service, access: Access, hint_other_service: OtherServiceHint) -> list[WireProtocol]:
    """The protocols of Lambda's API, or one that says that it is switched off."""
    part = service.features.loaded(TRIGGERS)
    if part is None:
        return [LambdaSwitchedOff(sentence_on("functions")) if service.store.is_clustered else LambdaSwitchedOff()]
    # Imported here: most servers have no functions, and start time counts.
    from hashrange.server.protocols.rest_json.code_downloads import CodeDownloads  # noqa: PLC0415
    from hashrange.server.protocols.rest_json.lambda_api import operations_of  # noqa: PLC0415
    from hashrange.server.protocols.rest_json.protocol import LambdaProtocol  # noqa: PLC0415

    operations = operations_of(part.triggers)
    return [CodeDownloads(part.triggers.functions), LambdaProtocol(operations, access, service, hint_other_service)]
