"""`hashrange cluster up`: how does one try several servers over Apache Cassandra, all on this machine? Makes a cluster,
shows it, and lets its members fail and come back.
"""

import os
from typing import TYPE_CHECKING, Any

from hashrange.cli.main import DONE, FAILED
from hashrange.cli.output import complain, say
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.messages.installing import how_to_install

if TYPE_CHECKING:
    from hashrange.local_cluster.cluster import LocalCluster

EXAMPLE = """example:
  hashrange cluster up --nodes 3 --servers 2
  hashrange cluster status
  hashrange cluster kill 1
  hashrange cluster start 1
  hashrange cluster pause 2 s1
  hashrange cluster resume 2 s1
  hashrange cluster down --delete

Nodes are called 1, 2, 3 and servers s1, s2. `up` prints where they are and leaves them running; said again, it starts \
those that have ended. `kill` sends SIGKILL, `pause` SIGSTOP and `resume` SIGCONT. `down` ends all, and `up` brings \
them back with their data.

Needs Java 17, for the first time Maven (mvn), which fetches Cassandra, and for servers the extra cluster: {install}
"""
OF_MEMBERS = ("kill", "pause", "resume", "start")
DEEDS = ("up", "status", "down", *OF_MEMBERS)
OF_UP = {"nodes": "--nodes", "servers": "--servers", "commitlog_sync": "--commitlog-sync", "heap_mb": "--heap"}
"""What an option of `up` is called in the record of a cluster → its flag."""
NODES, SERVERS, HEAPS_MB = range(1, 10), range(100), range(256, 65_537)
FOLDER = "hashrange-cluster"
COMMITLOG_SYNCS = ("batch", "periodic")
DEFAULTS: dict[str, Any] = {"nodes": 3, "servers": 2, "heap_mb": 384, "commitlog_sync": "batch"}
"""What `up` makes if it is not told otherwise."""


def run(words: list[str]) -> int:
    """Do what is asked; returns the exit code. Raises UsageError, ClusterFailure."""
    options = parse(build_parser(), words, is_intermixed=True)
    require_sense(options)
    if os.name == "nt":
        raise UsageError("`hashrange cluster` runs on Linux and macOS, whose signals pause processes.")
    # Imported here: Windows has not all of it.
    from hashrange.local_cluster.cluster import LocalCluster

    cluster, deed = LocalCluster(options.folder), options.deed
    if deed == "up":
        bring_up(cluster, options)
    elif deed == "down":
        cluster.down(is_deleting=options.is_deleting)
        return DONE
    elif deed in OF_MEMBERS:
        getattr(cluster, deed)(*options.names)
    are_ready = show_members(cluster)
    return FAILED if deed == "status" and not are_ready else DONE


def require_sense(options: Any) -> None:
    """Refuse what does not belong together. Raises UsageError."""
    deed = options.deed
    if deed not in DEEDS:
        raise UsageError(f"`hashrange cluster` does not know {deed}; say one of {', '.join(DEEDS)}.")
    for name, flag in OF_UP.items():
        if deed != "up" and getattr(options, name) is not None:
            raise UsageError(f"{flag} belongs to `hashrange cluster up`.")
    if options.is_deleting and deed != "down":
        raise UsageError("--delete belongs to `hashrange cluster down`.")
    if options.names and deed not in OF_MEMBERS:
        raise UsageError(f"`hashrange cluster {deed}` takes no names: it is for all members.")
    if not options.names and deed in OF_MEMBERS:
        raise UsageError(f"`hashrange cluster {deed}` needs the names of nodes (1 2 3) or servers (s1 s2).")


def bring_up(cluster: "LocalCluster", options: Any) -> None:
    """Make a cluster, unless there is one and the options want no other, and start what has ended of it.

    Raises UsageError, ClusterFailure.
    """
    wish = {
        "nodes": whole_number(options.nodes, "--nodes", NODES),
        "servers": whole_number(options.servers, "--servers", SERVERS),
        "heap_mb": whole_number(options.heap_mb, "--heap", HEAPS_MB),
        "commitlog_sync": options.commitlog_sync,
    }
    if wish["nodes"] == 2:
        raise UsageError(f"--nodes is 1, or 3 to {NODES[-1]}: of two nodes, none may fail.")
    if options.commitlog_sync not in {None, *COMMITLOG_SYNCS}:
        raise UsageError(f"--commitlog-sync is one of {', '.join(COMMITLOG_SYNCS)}.")
    if not cluster.exists:
        cluster.make(**DEFAULTS | {name: value for name, value in wish.items() if value is not None})
    record = cluster.record
    there = {
        "nodes": len(record.nodes),
        "servers": len(record.servers),
        "heap_mb": record.heap_mb,
        "commitlog_sync": record.commitlog_sync,
    }
    for name, value in wish.items():
        if value not in {None, there[name]}:
            raise UsageError(
                f"the cluster in {cluster.folder} was made with {OF_UP[name]} {there[name]}. Leave the option out, name"
                " another folder with --dir, or remove this cluster: hashrange cluster down --delete"
            )
    cluster.up(complain)


def whole_number(word: str | None, flag: str, numbers: range) -> int | None:
    """The number that an option was given; None if it was not. Raises UsageError."""
    if word is None:
        return None
    if not (word.isascii() and word.isdecimal() and len(word) <= len(str(numbers[-1])) and int(word) in numbers):
        raise UsageError(f"{flag} is a whole number from {numbers[0]} to {numbers[-1]}; {word} is not.")
    return int(word)


def show_members(cluster: "LocalCluster") -> bool:
    """Print where the members are and what they do, and how one more server is started; True if all are ready."""
    found = cluster.status()
    width = max(len(one.place) for one in found)
    say(*(f"{one.name:<3} {one.place:<{width}}  {one.state}" for one in found))
    say("", f"The nodes are the store {cluster.store_address}")
    return all(one.state == "ready" for one in found)


def build_parser() -> CommandParser:
    """The parser of `hashrange cluster`."""
    parser = command_parser(
        "cluster",
        "Run servers over nodes of Apache Cassandra on this machine, and let some of them fail.",
        EXAMPLE.format(install=how_to_install("cluster")),
    )
    parser.usage = (
        "hashrange cluster up|status|down [OPTION …]\n       hashrange cluster kill|pause|resume|start NAME …"
    )
    parser.add_argument("deed", metavar="|".join(DEEDS), help="What to do.")
    parser.add_argument("names", metavar="NAME", nargs="*", default=[], help="Nodes 1 2 3 and servers s1 s2.")
    parser.add_argument(
        "--dir", dest="folder", metavar="DIR", default=FOLDER, help=f"The folder of the cluster. [./{FOLDER}]"
    )
    parser.add_argument(
        "--nodes", metavar="N", help=f"How many nodes of Cassandra, of 1 GB each. [{DEFAULTS['nodes']}]"
    )
    parser.add_argument("--servers", metavar="N", help=f"How many servers of Hashrange. [{DEFAULTS['servers']}]")
    parser.add_argument(
        "--commitlog-sync", dest="commitlog_sync", metavar="|".join(COMMITLOG_SYNCS),
        help="Whether nodes sync each write to the disk, or all of them every 10 seconds. [batch]",
    )  # fmt: skip
    parser.add_argument("--heap", dest="heap_mb", metavar="MB", help=f"Heap of each node. [{DEFAULTS['heap_mb']}]")
    parser.add_argument("--delete", dest="is_deleting", action="store_true", help="With `down`, remove the data, too.")
    return parser
