"""`GET ready`, `GET info`, `GET dax`: what does the server tell of itself?

It is ready if it answers, because it listens only once the store is open. `info`: which version is running, with which
settings and since when, and what is the service time? `dax`: how are the nodes of DAX clusters used, with hits and
misses, memory, and the keys that are read most?
"""

from hashrange import __version__
from hashrange.aws_services.operation import Operation
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Serving, at_once
from hashrange.settings import Settings, options

SHOWN_AS_DATA_DIR = {"data_dir", "in_memory"}
"""Settings that say where the data is; the reply shows both as its member `data_dir`, null if in memory."""
SECRETS = {"credentials", "tls_cert", "tls_key", "store_user", "store_password_file", "store_ca"}
"""Settings that name users, or files of credentials, certificates and keys: the reply says whether they are set."""


async def tell_readiness(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return `{"ready": true}`."""
    return {"ready": True}


async def tell_state(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return the server's state. Times are in seconds, service time and wall time since the epoch."""
    service = serving.service
    store, clock, settings = service.store, service.clock, service.settings
    return {
        "version": __version__,
        "data_dir": settings.data_dir,
        "settings": shown_settings(settings),
        "service_time": clock.service_time(),
        "wall_time": clock.wall_time(),
        "uptime_seconds": clock.monotonic() - serving.started_at_seconds,
        "tables": len(store.catalog.all_tables()),
        "connections": serving.clients.count_open(),
        "committed_position": store.position(),
        "durable_position": store.durable_position(),
    }


def shown_settings(settings: Settings) -> dict[str, object]:
    """Return all settings but `SHOWN_AS_DATA_DIR`, by key in the TOML file; of `SECRETS` only whether each is set."""
    values = {
        option.key: getattr(settings, option.field) for option in options() if option.key not in SHOWN_AS_DATA_DIR
    }
    return values | {key: values[key] is not None for key in SECRETS}


async def tell_nodes(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return the nodes that run, in order of cluster and node."""
    return {"nodes": serving.describe_dax()}


ENDPOINTS = (
    Operation("GET ready", Nothing, tell_readiness, AdminWire(), is_eventual=at_once),
    Operation("GET info", Nothing, tell_state, AdminWire(), is_eventual=at_once),
    Operation("GET dax", Nothing, tell_nodes, AdminWire(), is_eventual=at_once),
)
