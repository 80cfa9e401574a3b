"""`hashrange mcp`: how do language models use a server? As tools of the Model Context Protocol,
over standard input and output or HTTP.
"""

import secrets
import signal
from importlib.util import find_spec

from hashrange.cli.main import DONE, ENDING_SIGNALS, FAILED, UNREAD, refuse
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.remote import Remote, add_endpoint, chosen_region
from hashrange.cli.settings_sources import MCP_TOKEN_VARIABLE, current_environment, read_text
from hashrange.messages.installing import how_to_install

EXAMPLE = """example:
  hashrange mcp --endpoint http://localhost:8000

A client of the protocol starts this command, and talks to it over standard input and output. \
With --http, the tools are served on
127.0.0.1 to callers with a token. Requests are signed with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
which only a server with a
credentials file asks for.

Needs the extra mcp: {install}
"""
MISSING = "the tools need the Python SDK of the Model Context Protocol. Install it: {install}."
OTHER_VERSION = (
    "the Python SDK of the Model Context Protocol that is installed has another version ({reason})."
    " Install the right one, in an environment of its own if other programs need theirs: {install}."
)
TOKEN_CHARACTERS_MIN = 16


def run(words: list[str]) -> int:
    """Serve tools until the client ends, or until interrupted; returns the exit code. Raises UsageError."""
    options = parse(build_parser(), words)
    environment = current_environment()
    server = Remote(options.endpoint, chosen_region(options.region, environment), environment)
    port = None if options.http is None else _port(options.http)
    token, is_new = _token(options.token_file, environment.get(MCP_TOKEN_VARIABLE))
    if find_spec("mcp") is None:
        return refuse(MISSING.format(install=how_to_install("mcp")), FAILED)
    # Imported here: the SDK takes longer to load than the rest of Hashrange, and may be missing.
    from hashrange.cli.log_lines import log_to_standard_error
    from hashrange.cli.mcp_tools.asking import AskedServer

    log_to_standard_error("WARNING")  # before the SDK, which would set up a log of its own

    try:
        from hashrange.cli.mcp_tools.assembly import make_tool_server
    except ImportError as error:
        return refuse(OTHER_VERSION.format(reason=error, install=how_to_install("mcp")), FAILED)
    asking = AskedServer(server)
    tools = make_tool_server(asking, may_write=options.may_write)
    try:
        if port is None:
            # Python's own handler would wait for the thread that reads standard input, until its next line.
            for number in (signal.SIGINT, *ENDING_SIGNALS):
                signal.signal(number, signal.SIG_DFL)
            try:
                tools.run("stdio")
            except ExceptionGroup as failures:
                if failures.split(BrokenPipeError)[1] is not None:
                    raise
                return UNREAD
        else:
            from hashrange.cli.mcp_tools.http_tools import serve_tools

            serve_tools(tools, port, token, asking.end, is_token_shown=is_new)
    except OSError as error:
        return refuse(f"the tools cannot be served on port {port}: {error.strerror}.", FAILED)
    finally:
        asking.close()
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange mcp`."""
    parser = command_parser(
        "mcp",
        "Serve a running server's tables as tools of the Model Context Protocol.",
        EXAMPLE.format(install=how_to_install("mcp")),
    )
    add_endpoint(parser)
    parser.add_argument(
        "--region", metavar="NAME", help="Region of the tables. [AWS_REGION, AWS_DEFAULT_REGION, us-east-1]"
    )
    parser.add_argument(
        "--allow-writes", dest="may_write", action="store_true", help="Have tools that write, and let PartiQL write."
    )
    parser.add_argument("--http", metavar="PORT", help="Serve HTTP on this port of 127.0.0.1; 0 takes a free one.")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"File with the token that callers send over HTTP. [{MCP_TOKEN_VARIABLE}, or a new one, which is printed]",
    )
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65_535):
        raise UsageError(f'--http is "{text}"; it must be a port, from 0 to 65535.')
    return int(text)


def _token(path: str | None, given: str | None) -> tuple[str, bool]:
    """The token in the file, or else the one of the environment; without both, a new one, and True."""
    if path is None and not given:
        return secrets.token_urlsafe(24), True
    place = path or MCP_TOKEN_VARIABLE
    token = (read_text(path, "--token-file") if path is not None else given or "").strip()
    if len(token) < TOKEN_CHARACTERS_MIN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{place} must hold a token of at least {TOKEN_CHARACTERS_MIN} printable ASCII characters without blanks."
        )
    return token, False
