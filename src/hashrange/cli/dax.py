"""`hashrange dax`: how are the DAX clusters of a running server used?
Prints hit rates, memory and the keys that are read most.
"""

from base64 import b64decode
from typing import Any

from hashrange.cli.main import DONE, count
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, command_parser, parse
from hashrange.cli.remote import DEFAULT_REGION, Remote, add_endpoint
from hashrange.cli.settings_sources import current_environment

EXAMPLE = """example:
  hashrange dax

Counts begin when a node is started or rebooted. The keys that are read most are known from a sample. \
The server needs its admin API
(--admin).
"""
NONE_RUNS = "No DAX node runs. Start the server with --dax-port, or make a cluster with the API of DAX."
CACHES = (("item", "ItemCache"), ("query", "QueryCache"), ("scan", "ScanCache"))


def run(words: list[str]) -> int:
    """Print the state of all nodes; returns the exit code. Raises RemoteError."""
    options = parse(build_parser(), words)
    with Remote(options.endpoint, DEFAULT_REGION, current_environment()) as server:
        nodes = server.operate("GET", "dax")["nodes"]
    if not nodes:
        say(NONE_RUNS)
    for node in nodes:
        say(*node_lines(node))
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange dax`."""
    parser = command_parser("dax", "Print how the DAX clusters of a running server are used.", EXAMPLE)
    add_endpoint(parser)
    return parser


def node_lines(node: Any) -> list[str]:
    """What is printed of a node, as the admin API describes it."""
    counts = node["counts"]
    used, memory = node["used_bytes"], node["memory_bytes"]
    requests, failed = count(counts.get("TotalRequestCount", 0), "request"), counts.get("FailedRequestCount", 0)
    connections = count(node["connections"], "connection")
    lines = [
        f"{node['cluster']}, node {node['node']}, port {node['port']}: {connections}, {requests}, {failed:,} failed",
        f"  memory        {used:,} of {memory:,} bytes, {node['evicted_bytes']:,} evicted",
    ]
    for word, name in CACHES:
        hits, misses = counts.get(f"{name}Hits", 0), counts.get(f"{name}Misses", 0)
        if hits or misses:
            lines.append(
                f"  {word:5} cache   {hits:,} hits, {misses:,} misses: {100 * hits / (hits + misses):.1f} % hits"
            )
    for place, hot in enumerate(node["hottest"]):
        title = "hottest items" if not place else ""
        lines.append(f"  {title:13} {hot['table']} {shown_key(hot['key'])}: about {count(hot['reads'], 'read')}")
    return lines


def shown_key(encoded: str) -> str:
    """A key as it is on the wire, for people: text where it is text, otherwise hexadecimal digits."""
    raw = b64decode(encoded)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw.hex()
    return text if text.isprintable() else raw.hex()
