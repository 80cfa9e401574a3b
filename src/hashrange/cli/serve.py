"""`hashrange serve`: settings in, a running server out. Everything heavy is imported once the settings are known to be good."""

import argparse
import sys
from typing import Any

from hashrange.cli.dynamodb_local import is_dynamodb_local, translate
from hashrange.cli.main import DONE, FAILED, refuse
from hashrange.cli.parsing import command_parser, parse
from hashrange.cli.sources import CONFIG_VARIABLE, current_environment, load_settings
from hashrange.errors import HashrangeError
from hashrange.settings import Option, Settings, options

EXAMPLE = """example:
  hashrange serve --port 8001 --data-dir ./shop-data

Every option may also stand in the TOML file given by --config (or {variable}), or in the environment:
--data-dir, data_dir = "…" and HASHRANGE_DATA_DIR=… are the same. Flags win over the environment, and it over the file.
"""

READY = (
    "Hashrange serves DynamoDB at {endpoint}, {place}. Point boto3, the AWS CLI or the JavaScript SDK at it with"
    " AWS_ENDPOINT_URL_DYNAMODB={endpoint} (or endpoint_url=, --endpoint-url, endpoint:)."
)


def run(words: list[str]) -> int:
    """Serve until asked to stop; returns the exit code."""
    if is_dynamodb_local(words):
        words = translate(words)
    flags = vars(parse(build_parser(), words))
    config = flags.pop("config", None)
    settings, warnings = load_settings(flags, current_environment(), config)
    start_logging(settings)
    for warning in warnings:
        print(f"hashrange: {warning}", file=sys.stderr)
    return serve(settings)


def build_parser() -> argparse.ArgumentParser:
    """One flag per option; values stay text, `cli.sources` checks them."""
    description = "Serve DynamoDB's API over HTTP, until SIGTERM or Ctrl-C."
    parser = command_parser("serve", description, EXAMPLE.format(variable=CONFIG_VARIABLE))
    parser.usage = "hashrange serve [OPTION …]"
    parser.add_argument("--config", metavar="FILE", help="TOML file of these options.")
    for option in options():
        _add_flag(parser, option)
    return parser


def _add_flag(parser: argparse.ArgumentParser, option: Option) -> None:
    action: dict[str, Any] = {"metavar": _metavar(option)}
    if option.kind == "switch":
        action = {"action": argparse.BooleanOptionalAction}
    default = "" if option.default in {None, False} and option.kind != "number" else f" [{_shown(option.default)}]"
    parser.add_argument(option.flag, dest=option.key, help=option.help + default, **action)


def _metavar(option: Option) -> str:
    """What stands behind the flag in its help."""
    if option.choices:
        return "|".join(option.choices)
    if option.kind == "text":
        return {"host": "ADDRESS", "data_dir": "DIR"}.get(option.key, "FILE")
    return option.unit.upper() if option.unit else "N"


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)


def start_logging(settings: Settings) -> None:
    """Log to standard error; the access log has its own switch and does not depend on the level."""
    import logging

    logging.basicConfig(
        stream=sys.stderr, level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    if settings.access_log:
        logging.getLogger("hashrange.access").setLevel(logging.INFO)


def serve(settings: Settings) -> int:
    """Run the server; what keeps it from starting becomes one sentence."""
    try:
        from hashrange.server.app import run as run_server
        from hashrange.server.credentials import CredentialsFileError
    except ModuleNotFoundError as error:
        if error.name != "rocksdict":
            raise
        return refuse(
            "the storage engine rocksdict is not installed. On Windows on arm64 it has no package: use an x86-64 Python there.",
            FAILED,
        )
    try:
        run_server(settings, lambda endpoint: announce(settings, endpoint))
    except (CredentialsFileError, HashrangeError) as error:
        return refuse(str(error), FAILED)
    except OSError as error:
        return refuse(start_failure(settings, error), FAILED)
    return DONE


def announce(settings: Settings, endpoint: str) -> None:
    """The one line that an operator sees."""
    place = "in memory" if settings.data_dir is None else f"data in {settings.data_dir}"
    endpoint = endpoint.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    print(READY.format(endpoint=endpoint, place=place), flush=True)


def start_failure(settings: Settings, error: OSError) -> str:
    """Why the server could not listen, and what to do about it."""
    import errno
    import ssl

    address = f"{settings.host}:{settings.port}"
    if isinstance(error, ssl.SSLError) or (settings.tls_cert is not None and isinstance(error, FileNotFoundError)):
        reason = error.strerror or str(error)
        return f"TLS cannot start with {settings.tls_cert} and {settings.tls_key}: {reason}. Both must be readable PEM files that belong together."
    if error.errno == errno.EADDRINUSE:
        return f"{address} is taken by another program. Stop it, or choose another port with --port."
    if error.errno == errno.EACCES:
        return f"this user may not listen on {address}. Choose a port from 1024 up with --port."
    return f"the server cannot listen on {address}: {error.strerror or error}. Mend --host or --port."
