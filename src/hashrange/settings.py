"""Which options does the server have? The fields of `Settings`, each with its default, unit and help text.

Flags, environment variables, keys of the TOML file and docs/settings.md are derived from these fields, so an option is
declared once. `cli.settings_sources` reads flags, environment and file, and reports wrong values.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.errors import HashrangeError
from hashrange.limits import (
    ITEM_COLLECTION_SIZE_MAX_BYTES,
    PARTITION_SIZE_MAX_BYTES,
    TTL_COOLDOWN_SECONDS,
    VECTOR_MEMORY_BYTES,
)

AdaptiveSetting = Literal["instant", "shares", "off"]
ThroughputSetting = Literal["unlimited", "enforced"]
LogLevel = Literal["debug", "info", "warning", "error"]

UNITS = ("seconds", "bytes")
"""Units with which names of fields end. Flags, variables and keys of the TOML file omit them; the help shows them."""

SHARED_ACCOUNT, SHARED_REGION = "000000000000", "us-east-1"
"""Account and Region that hold all data with `--shared-db`, and that whatever names none belongs to."""

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound to
"""Address that stands for all addresses → one at which this machine is reached."""


class SettingUnusable(HashrangeError):
    """A file or folder that a setting names is unusable. The message names it, the reason and a remedy."""


class Settings(msgspec.Struct, frozen=True):
    """Options of `hashrange serve`, already checked. Bounds and help text of each are in its annotation."""

    host: Annotated[str, "Address to listen on; 0.0.0.0 lets other machines in."] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535), "Port to listen on; 0 takes a free one."] = 8000
    data_dir: Annotated[str | None, "Folder of the data; made when it does not exist."] = "./hashrange-data"
    """None keeps everything in memory (`--in-memory`), or in the cluster of `store`."""
    store: Annotated[
        str | None,
        "Cluster of Cassandra that keeps everything, instead of --data-dir, as"
        " cassandra://HOST,HOST/KEYSPACE. Any number of servers may have the same one, but lack"
        " much (docs/cluster-refusals.md). Needs the extra cluster.",
    ] = None
    store_user: Annotated[str | None, "User of the cluster of --store."] = None
    store_password_file: Annotated[
        str | None,
        "File that holds the password of --store-user, and nothing else; or set HASHRANGE_STORE_PASSWORD to it.",
    ] = None
    store_ca: Annotated[
        str | None, "PEM file of the certificates that sign those of the cluster's nodes; connections are TLS then."
    ] = None
    store_datacenter: Annotated[
        str | None, "Data centre of the cluster whose nodes are asked; by default that of the first one that answers."
    ] = None
    single_node: Annotated[
        bool, "Let the cluster of --store keep one copy of each row, for tests; otherwise it keeps three."
    ] = False
    snapshot: Annotated[
        str | None, "Snapshot file (hashrange snapshot) to begin with; for --in-memory, or a folder without tables."
    ] = None
    init: Annotated[
        str | None,
        "Folder of tables and items that the server begins with (docs/init.md);"
        " each of its files is applied once to a data folder.",
    ] = None
    credentials: Annotated[
        str | None,
        "TOML or JSON file of access keys (docs/credentials.md). Without it, any key is let in"
        " and no signature is checked.",
    ] = None
    shared_db: Annotated[bool, "Keep one set of tables for all accounts and Regions."] = False
    tls_cert: Annotated[str | None, "PEM file of a certificate: serves HTTPS, with --tls-key."] = None
    tls_key: Annotated[str | None, "PEM file of the certificate's private key."] = None
    log_level: Annotated[LogLevel, "Least severity that is logged, on standard error."] = "warning"
    access_log: Annotated[
        bool,
        "Log one line per request: client, method, path, target, status, bytes of the reply, request id, "
        "table, units read, units written and, of a refused one, the exception. "
        "Costs about as much as a small request.",
    ] = False
    admin: Annotated[
        bool,
        "Serve the admin API below /_hashrange/v1/ on the same port (docs/admin.md):"
        " moves the clock, expires items, splits partitions.",
    ] = False
    admin_from: Annotated[
        Literal["loopback", "everyone"],
        "Who may use the admin API, which knows no credentials: clients of the same machine, or"
        " everyone who reaches the port.",
    ] = "loopback"
    allowed_hosts: Annotated[
        str | None,
        "Names, with commas between them, by which clients may call the server besides those of its machine,"
        " such as db.test or *.example.com (docs/security.md).",
    ] = None
    allowed_origins: Annotated[
        str | None,
        "Origins of web pages, with commas between them, that may call more than DynamoDB's own API, such as"
        " http://localhost:3000 (docs/security.md).",
    ] = None
    table_state_delay_seconds: Annotated[
        float, Meta(ge=0, le=3600), "How long tables stay CREATING, UPDATING and DELETING."
    ] = 0.0
    """0: a new table is CREATING in CreateTable's reply and ACTIVE in the next call."""
    vector_index_delay_seconds: Annotated[
        float,
        Meta(ge=0, le=3600),
        "How long a vector index that is added to a table stays CREATING at the least; the table is UPDATING for a"
        " fifth of it.",
    ] = 10.0
    """0: the index can be searched in the next call, if the table has few items."""
    index_delay_seconds: Annotated[
        float, Meta(ge=0, le=3600), "How much later than their items entries of global indexes are written."
    ] = 0.0
    """0: index entries are written in the commit of their item, except late ones (1 MB or more in one commit)."""
    ttl_delay_seconds: Annotated[
        float, Meta(ge=0, le=604_800), "How long after its time an item with time to live is deleted."
    ] = 0.0
    """0: items are deleted within a second or two of their expiry time; DynamoDB itself takes up to some days."""
    clock_behind_seconds: Annotated[
        float,
        Meta(ge=0, le=366 * 86_400),
        "How far service time begins behind the machine's, so that advances of the clock make a past that ends"
        " now; for a database without tables.",
    ] = 0.0
    metrics: Annotated[
        Literal["on", "off"],
        "on records the metrics of DynamoDB that CloudWatch's API returns (docs/metrics.md); off does not.",
    ] = "on"
    metrics_from: Annotated[
        str | None,
        "Access keys of the credentials file, with commas between them, that read the metrics of all accounts"
        " at /metrics; everyone: each key does. Others read those of their own account.",
    ] = None
    sns_endpoint: Annotated[
        str | None, "URL of an SNS to which alarms publish, for actions that are topics (docs/metrics.md)."
    ] = None
    otlp_endpoint: Annotated[
        str | None,
        "URL that metrics are sent to over OTLP, such as http://localhost:4318/v1/metrics;"
        " needs the extra otlp (docs/installing.md).",
    ] = None
    dax_port: (
        Annotated[
            int,
            Meta(ge=0, le=65_535),
            "Port of a DAX cluster named default, of one node, that is there at once (docs/dax.md);"
            " 0 takes a free one.",
        ]
        | None
    ) = None
    dax_advertise: Annotated[
        str | None,
        "HOST or HOST:PORT at which DAX's clients reach the nodes, if not at the address that they connect to,"
        " as behind a port mapping; further nodes have the ports behind PORT.",
    ] = None
    dax_memory_bytes: (
        Annotated[
            int,
            Meta(ge=1024, le=1024**5),
            "Memory of the caches of a DAX node; by default that of the cluster's node type,"
            " which is 2 GB for `default`.",
        ]
        | None
    ) = None
    functions: Annotated[
        bool,
        "Serve Lambda's API and run functions' code on this machine, with the rights of this"
        " process (docs/functions.md).",
    ] = False
    triggers: Annotated[
        str | None,
        "TOML file of functions, event source mappings and failure destinations (docs/functions.md);"
        " serves Lambda's API.",
    ] = None
    kinesis_endpoint: Annotated[
        str | None,
        "URL of Kinesis, to which tables with a Kinesis destination send their changes, such as that of"
        " kinesis-local (docs/kinesis.md).",
    ] = None
    others: Annotated[
        str | None,
        "URL of another emulator, which gets the requests of all services that are not served"
        " here (docs/one-endpoint.md).",
    ] = None
    s3_folder: Annotated[
        str | None,
        "Folder whose subfolders are the buckets of an S3 (docs/s3.md), which the server also answers for;"
        " made when it does not exist.",
    ] = None
    s3_endpoint: Annotated[
        str | None,
        "URL of an S3 that exports and imports use, such as https://s3.eu-west-1.amazonaws.com; needs the extra s3"
        " (docs/s3.md).",
    ] = None
    s3_region: Annotated[
        str | None, "Region of --s3-endpoint; by default that of AWS's variables and files, else us-east-1."
    ] = None
    s3_addressing: Annotated[
        Literal["path", "virtual"],
        "How URLs of --s3-endpoint name a bucket: path, as most servers know it, or virtual, in the host's name.",
    ] = "path"
    faults: Annotated[
        str | None, "TOML file of faults (docs/testing/faults.md): throttling, errors, lost replies, stale reads."
    ] = None
    recovery_lag_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400),
        "How far the latest time to which a table can be restored lies behind now (docs/backups.md).",
    ] = 0.0
    """0: a table can be restored as it is now; DynamoDB itself takes five minutes."""
    recovery_max_mb: (
        Annotated[
            int,
            Meta(ge=1, le=1024**3),
            "Megabytes of changes that are kept for point-in-time recovery, of all tables together; beyond it the"
            " oldest go, and the earliest time to which tables can be restored moves forward."
            " By default 10,000, and 256 in memory.",
        ]
        | None
    ) = None
    like_aws: Annotated[
        bool,
        "Let states, index entries, expired items and recovery take as long as in the service:"
        " sets the four delays above that are 0.",
    ] = False
    ttl_cooldown_seconds: Annotated[
        float,
        Meta(ge=0, le=604_800),
        "How long after a change time to live cannot be changed again; by default an hour, as the service's.",
    ] = TTL_COOLDOWN_SECONDS
    item_collection_limit_bytes: Annotated[
        int,
        Meta(ge=1, le=1024**5),
        "Size that no item collection of a table with local indexes may grow beyond;"
        " by default 10 GB, as the service's.",
    ] = ITEM_COLLECTION_SIZE_MAX_BYTES
    partition_size_bytes: Annotated[
        int,
        Meta(ge=1024, le=1024**5),
        "Size beyond which a partition of a table or index splits; by default 10 GB, as the service's.",
    ] = PARTITION_SIZE_MAX_BYTES
    vector_memory_bytes: Annotated[
        int,
        Meta(ge=0, le=1024**5),
        "Memory for the vectors of indexes that are searched (docs/vectors.md), of a server and its forks together;"
        " by default 2.5 GB.",
    ] = VECTOR_MEMORY_BYTES
    """0: vectors are read for each search."""
    initial_partitions: Annotated[
        Literal["one", "service"], "Partitions of a new table: one, or service: as many as the service gives it."
    ] = "one"
    throughput: Annotated[
        ThroughputSetting,
        "unlimited counts capacity units; enforced throttles who uses more than there are (docs/throughput.md).",
    ] = "unlimited"
    adaptive_capacity: Annotated[
        AdaptiveSetting,
        "Enforced units of a partition: instant, up to what a partition serves;"
        " shares, an equal share of the table's; off, as many as the table has.",
    ] = "instant"
    max_connections: Annotated[
        int,
        Meta(ge=1, le=1_000_000),
        "Connections open at a time; further ones are refused. Fewer where the process may open few files.",
    ] = 65_536


LIKE_AWS_DELAYS = {
    "table_state_delay_seconds": 5.0,
    "index_delay_seconds": 0.1,
    "ttl_delay_seconds": 300.0,
    "recovery_lag_seconds": 300.0,
}
"""Delays that `like_aws` sets, in seconds; the service takes about as long."""


def with_delays(settings: Settings) -> Settings:
    """The settings; if `like_aws` is on, delays that are 0 are replaced by those of LIKE_AWS_DELAYS."""
    if not settings.like_aws:
        return settings
    missing = {name: seconds for name, seconds in LIKE_AWS_DELAYS.items() if not getattr(settings, name)}
    return msgspec.structs.replace(settings, **missing)


OptionKind = Literal["text", "integer", "number", "switch", "choice"]
_KINDS: dict[Any, OptionKind] = {bool: "switch", int: "integer", float: "number", str: "text", str | None: "text"}
"""Type of a field → kind of its option; all others are choices."""


class Option(msgspec.Struct, frozen=True):
    """One option, described for flags, environment, TOML file, docs and messages."""

    field: str
    """Name of the option's field in Settings."""
    default: Any
    help: str
    kind: OptionKind
    unit: str | None = None
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 0

    @property
    def key(self) -> str:
        """Key in the TOML file, such as `data_dir`."""
        return self.field if self.unit is None else self.field.removesuffix(f"_{self.unit}")

    @property
    def flag(self) -> str:
        """Flag, such as `--data-dir`."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """Environment variable, such as `HASHRANGE_DATA_DIR`."""
        return "HASHRANGE_" + self.key.upper()

    @property
    def expected(self) -> str:
        """Allowed values in words, such as `a whole number from 0 to 65,535`."""
        if self.kind == "choice":
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        if self.kind == "switch":
            return "true or false"
        if self.kind == "text":
            return "text that is not empty"
        number = "a whole number" if self.kind == "integer" else "a number"
        of_unit = f" of {self.unit}" if self.unit else ""
        return f"{number}{of_unit} from {self.least:,.0f} to {self.most:,.0f}"


IN_MEMORY = Option(
    "in_memory", False, "Keep everything in memory and leave nothing behind, instead of --data-dir.", "switch"
)
"""The one option without a field in Settings: it sets `data_dir=None`."""


def options() -> list[Option]:
    """Every option, in the order of Settings; `--in-memory` follows `--data-dir`."""
    found = [_option(field) for field in msgspec.structs.fields(Settings)]
    found.insert(1 + next(i for i, option in enumerate(found) if option.field == "data_dir"), IN_MEMORY)
    return found


def _option(field: msgspec.structs.FieldInfo) -> Option:
    """The option that a field of Settings declares."""
    described = field.type if hasattr(field.type, "__metadata__") else field.type.__args__[0]  # of a union with None
    annotated, (*bounds, text) = described.__origin__, described.__metadata__
    kind = _KINDS.get(annotated, "choice")
    choices = annotated.__args__ if kind == "choice" else ()
    unit = next((unit for unit in UNITS if field.name.endswith(f"_{unit}")), None)
    least, most = (bounds[0].ge, bounds[0].le) if bounds else (0, 0)
    return Option(field.name, field.default, text, kind, unit, choices, least, most)
