"""`hashrange serve`: how does a server start? Settings are loaded first;
heavy modules are imported once the settings are valid.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from hashrange.cli.dynamodb_local import is_dynamodb_local, ready_lines, translate
from hashrange.cli.main import DONE, FAILED, refuse
from hashrange.cli.output import complain, say
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.settings_sources import CONFIG_VARIABLE, current_environment, in_given_names, load_settings
from hashrange.errors import HashrangeError
from hashrange.settings import WILDCARDS, Option, Settings, options

EXAMPLE = """example:
  hashrange serve --port 8001 --data-dir ./shop-data

Every option may also stand in the TOML file given by --config (or {variable}), or in the environment: \
--data-dir, data_dir = "…" and
HASHRANGE_DATA_DIR=… are the same. Flags win over the environment, and it over the file.
"""

READY = "Hashrange serves DynamoDB at {endpoint}, {place}{dax}."
"""The first line that a server prints, once it is ready. Programs that start a server read the endpoint in it."""
DAX_READY = ", and DAX at {endpoint}"
HOW_TO_CALL = "Set AWS_ENDPOINT_URL_DYNAMODB={endpoint} for SDKs and the AWS CLI."
RUNS_CODE = "Functions are on: whoever reaches this port can run code on this machine, with the rights of this process."

_PLACEHOLDERS = {
    "host": "ADDRESS",
    "data_dir": "DIR",
    "store": "URL",
    "store_user": "NAME",
    "store_datacenter": "NAME",
    "init": "DIR",
    "sns_endpoint": "URL",
    "otlp_endpoint": "URL",
    "dax_advertise": "HOST",
    "allowed_hosts": "NAMES",
    "allowed_origins": "ORIGINS",
    "metrics_from": "KEYS",
    "kinesis_endpoint": "URL",
    "others": "URL",
}
"""Key of an option that takes text → what stands for its value in the help; FILE for all others."""


def run(words: list[str]) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit code."""
    is_local = is_dynamodb_local(words)
    if is_local:
        words = translate(words)
    flags = vars(parse(build_parser(), words))
    config = flags.pop("config", None)
    settings, warnings, given_names = load_settings(flags, current_environment(), config)
    start_logging(settings)
    for warning in warnings:
        complain(f"hashrange: {warning}")
    try:
        return start_server(settings, announce_as_local if is_local else announce)
    except HashrangeError as error:
        sentence = _taken_by_hashrange(settings) if getattr(error, "is_port_taken", False) else None
        error.args = (in_given_names(sentence or str(error), given_names),)
        raise


def _taken_by_hashrange(settings: Settings) -> str | None:
    """The sentence for a port at which another Hashrange listens; None if it is another program."""
    from hashrange.cli.checkup.endpoint import hashrange_at

    own = hashrange_at(WILDCARDS.get(settings.host, settings.host), settings.port)
    if own is None:
        return None
    return (
        f"{settings.host}:{settings.port} is taken by another {own}. Use that one, stop it, or choose"
        " another port with --port."
    )


def build_parser() -> CommandParser:
    """The parser of `hashrange serve`: one flag per option; `cli.settings_sources` converts and checks the values."""
    description = "Serve DynamoDB's API over HTTP, until SIGTERM or Ctrl-C."
    parser = command_parser("serve", description, EXAMPLE.format(variable=CONFIG_VARIABLE))
    parser.usage = "hashrange serve [OPTION …]"
    parser.argument_default = argparse.SUPPRESS  # what is not given is not in the result
    parser.add_argument("--config", metavar="FILE", help="TOML file of these options.")
    for option in options():
        action: dict[str, Any] = {"metavar": _metavar(option)}
        if option.kind == "switch":
            action = {"action": argparse.BooleanOptionalAction}
        default = "" if option.default in {None, False} and option.kind != "number" else f" [{_shown(option.default)}]"
        parser.add_argument(option.flag, dest=option.key, help=option.help + default, **action)
    return parser


def _metavar(option: Option) -> str:
    """The placeholder for an option's value in the help."""
    if option.choices:
        return "|".join(option.choices)
    if option.kind == "text":
        return _PLACEHOLDERS.get(option.key, "FILE")
    return option.unit.upper() if option.unit else "N"


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)


def start_logging(settings: Settings) -> None:
    """Log to standard error; the access log, and what handlers print, depend on their own switches,
    not on the log level.
    """
    import logging

    from hashrange.cli.log_lines import log_to_standard_error

    log_to_standard_error(settings.log_level.upper())
    if settings.init is not None:
        logging.getLogger("hashrange.init").setLevel(logging.INFO)
    if settings.functions:
        logging.getLogger("hashrange.functions").setLevel(logging.INFO)
    if settings.access_log:
        logging.getLogger("hashrange.access").setLevel(logging.INFO)


def start_server(settings: Settings, tell: Callable[[Settings, str, str | None], None]) -> int:
    """Run the server until it is stopped; returns the exit code. Raises HashrangeError if the server cannot start.

    `tell` is called with the URLs of the endpoint and of the DAX cluster `default` once the server is ready.
    """
    try:
        from hashrange.server.app import run as run_server
    except ModuleNotFoundError as error:
        if error.name != "rocksdict":
            raise
        return refuse(
            "the storage engine rocksdict is not installed. On Windows on arm64 it has no package:"
            " use an x86-64 Python there.",
            FAILED,
        )
    run_server(settings, partial(tell, settings))
    return DONE


def announce(settings: Settings, endpoint: str, dax_endpoint: str | None = None) -> None:
    """Print where the server is and how it is called, once it is ready, and a warning if functions run."""
    kept_in = settings.store or settings.data_dir
    place = "in memory" if kept_in is None else f"data in {kept_in}"
    dax = "" if dax_endpoint is None else DAX_READY.format(endpoint=dax_endpoint)
    lines = [READY.format(endpoint=endpoint, place=place, dax=dax), HOW_TO_CALL.format(endpoint=endpoint)]
    say(*lines, *([RUNS_CODE] if settings.functions else []), is_flushed=True)


def announce_as_local(settings: Settings, endpoint: str, dax_endpoint: str | None = None) -> None:
    """Print our lines and, behind them, those of DynamoDB Local, for which tools wait that start it;
    all once the server is ready.
    """
    announce(settings, endpoint, dax_endpoint)
    say(*ready_lines(settings, int(endpoint.rpartition(":")[2])).split("\n"), is_flushed=True)
