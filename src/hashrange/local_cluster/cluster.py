"""How does a cluster on this machine come up, lose members, get them back, and end? Nodes of Apache Cassandra, and
servers of Hashrange over them, as processes that go on when the command or the program that started them ends.

    with local_cluster(nodes=3) as cluster:
        cluster.store_address  # cassandra://127.93.4.1:9042,127.93.4.2:9042,127.93.4.3:9042/hashrange
        cluster.kill("1")
        cluster.start("1")

A cluster is a folder. Any process may open it (`LocalCluster(folder)`), also while another one uses it: what is known
of it is read from its file each time, and changed under a lock.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from hashrange.local_cluster.addresses import choose_addresses
from hashrange.local_cluster.answers import (
    MemberState,
    answers_itself,
    reaches_all_nodes,
    state_of_node,
    state_of_server,
)
from hashrange.local_cluster.cluster_file import (
    FILE,
    CassandraNode,
    ClusterMember,
    ClusterRecord,
    CommitlogSync,
    HashrangeServer,
    read_record,
    write_record,
)
from hashrange.local_cluster.failures import ClusterFailure
from hashrange.local_cluster.jars import require_jars
from hashrange.local_cluster.java import find_java, java_arguments
from hashrange.local_cluster.node_files import LOG, write_node_files
from hashrange.local_cluster.processes import holds_within, launch, process_state, send_signal

KEYSPACE = "hashrange"
HEAP_MB = 384
REPLICAS = 3
"""Of each row, or as many as there are nodes."""
START_SECONDS = 180.0
"""Longer than any start takes, also when many programs share the machine."""
END_SECONDS = 20.0
"""The time that a member has to end in order, before it is killed."""
SIGNAL_SECONDS = 60.0
"""Longer than any process takes to notice SIGKILL, SIGSTOP and SIGCONT."""
OUTPUT = "output.log"
"""What a member's process prints, in the member's folder."""
LOCK_FILE = "cluster.lock"
TOLD_LINES = 3
"""The last lines of a member's output that a failure repeats."""
_find_url = re.compile(r"^Hashrange serves DynamoDB at (\S+?),", re.MULTILINE).search

TellStep = Callable[[str], None]


class MemberStatus(NamedTuple):
    """A node or server, and what it does now."""

    name: str
    place: str
    """Address and port of a node; URL of a server, empty if it has never been ready."""
    state: MemberState


class LocalCluster:
    """The cluster of a folder, which need not exist yet. All methods raise ClusterFailure."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)

    def make(
        self,
        *,
        nodes: int = REPLICAS,
        servers: int = 0,
        commitlog_sync: CommitlogSync = "batch",
        heap_mb: int = HEAP_MB,
        keyspace: str = KEYSPACE,
        server_options: Sequence[str] = (),
    ) -> None:
        """Choose where the members of a new cluster will listen, and remember it; `up` starts them."""
        if self.exists:
            raise ClusterFailure(f"{self.folder} has a cluster already.")
        if nodes == 2 or nodes < 1 or servers < 0:
            raise ClusterFailure("a cluster has one node, or three and more: two survive no loss of one.")
        hosts, cql_port, storage_port = choose_addresses(nodes)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            write_record(
                self.folder,
                ClusterRecord(
                    commitlog_sync=commitlog_sync,
                    heap_mb=heap_mb,
                    keyspace=keyspace,
                    cql_port=cql_port,
                    storage_port=storage_port,
                    nodes=[CassandraNode(str(number), host) for number, host in enumerate(hosts, 1)],
                    servers=[HashrangeServer(f"s{number}") for number in range(1, servers + 1)],
                    server_options=list(server_options),
                ),
            )
        except OSError as error:
            raise ClusterFailure(f"{self.folder} cannot be written: {error.strerror}. Name another folder.") from error

    @property
    def exists(self) -> bool:
        """True if the folder has a cluster, whether it runs or not."""
        return read_record(self.folder) is not None

    @property
    def record(self) -> ClusterRecord:
        """What is remembered of the cluster now."""
        record = read_record(self.folder)
        if record is None:
            raise ClusterFailure(f"there is no cluster in {self.folder}. `hashrange cluster up` makes one.")
        return record

    @property
    def store_address(self) -> str:
        """What `hashrange serve --store` takes for this cluster."""
        return _store_address(self.record)

    @property
    def server_urls(self) -> list[str]:
        """The URLs of all servers that have been ready once."""
        return [server.url for server in self.record.servers if server.url is not None]

    # --- starting ----------------------------------------------------------------------------

    def up(self, tell: TellStep = lambda line: None) -> None:
        """Start what has ended, resume what is paused, and return once every member is ready.

        `tell` is called with a line about each step that takes long.
        """
        record = self.record
        names = [one.name for one in record.members]
        self.resume(*names)
        self._start(names, tell)

    def start(self, *names: str) -> None:
        """Start members that have ended, and return once they are ready."""
        self._start(names, lambda line: None)

    def _start(self, names: Collection[str], tell: TellStep) -> None:
        record = self._with_members(names)
        self._start_nodes([one.name for one in record.nodes if one.name in names], tell)
        servers = [one.name for one in record.servers if one.name in names]
        if not self.server_urls:
            # The first server makes the keyspace and its tables: nodes that change the schema at once may disagree.
            self._start_servers(servers[:1], tell)
        self._start_servers(servers, tell)

    def _start_nodes(self, names: Collection[str], tell: TellStep) -> None:
        with self._changing() as record:
            nodes = [one for one in record.nodes if one.name in names]
            ended = [one for one in nodes if process_state(one.process) == "ended"]
            if ended:
                java, jars = find_java(os.environ), require_jars(os.environ, tell)
                tell(f"Starting {_told('node', ended)} of Cassandra.")
            for node in ended:
                folder = self.folder_of(node.name)
                write_node_files(folder, record, node)
                command = [java, *java_arguments(folder, jars, record.heap_mb)]
                node.process = launch(command, folder, os.path.join(folder, OUTPUT))
        if len(record.nodes) > 1 and nodes and all(process_state(one.process) == "running" for one in record.nodes):
            # The others must know a node that comes back, too, before they use it again.
            self._wait(record.nodes, lambda node: reaches_all_nodes(record, node))
        else:
            self._wait(nodes, lambda node: answers_itself(record, node))

    def _start_servers(self, names: Collection[str], tell: TellStep) -> None:
        offsets = {}
        with self._changing() as record:
            servers = [one for one in record.servers if one.name in names]
            ended = [one for one in servers if process_state(one.process) == "ended"]
            if ended:
                tell(f"Starting {_told('server', ended)} of Hashrange.")
            for server in ended:
                folder = self.folder_of(server.name)
                os.makedirs(folder, mode=0o700, exist_ok=True)
                log = os.path.join(folder, OUTPUT)
                offsets[server.name] = os.path.getsize(log) if os.path.exists(log) else 0
                server.process = launch(_server_command(record, server), folder, log)
        self._wait(ended, lambda server: self._has_url(server, offsets[server.name]))
        with self._changing() as record:
            for server in record.servers:
                if server.name in offsets:
                    server.url = self._url_in_log(server, offsets[server.name])

    def _has_url(self, server: HashrangeServer, offset: int) -> bool:
        return self._url_in_log(server, offset) is not None

    def _url_in_log(self, server: HashrangeServer, offset: int) -> str | None:
        """The URL that a server has printed behind this place of its output: it is ready."""
        with open(os.path.join(self.folder_of(server.name), OUTPUT), encoding="utf-8", errors="replace") as file:
            file.seek(offset)
            found = _find_url(file.read())
        return None if found is None else found[1]

    def _wait(self, members: Sequence[ClusterMember], is_ready: Callable[..., bool]) -> None:
        """Wait until all members are ready. One that ends meanwhile, or takes too long, is a failure."""
        waiting = list(members)

        def look() -> bool:
            for member in tuple(waiting):
                if is_ready(member):
                    waiting.remove(member)
                elif process_state(member.process) == "ended":
                    raise ClusterFailure(f"{_called(member)} ended while it started. {self._last_words(member.name)}")
            return not waiting

        if not holds_within(START_SECONDS, look):
            late, words = _called(waiting[0]), self._last_words(waiting[0].name)
            raise ClusterFailure(f"{late} is not ready after {START_SECONDS:g} seconds. {words}")

    def _last_words(self, name: str) -> str:
        """The last lines that a member has printed, and where there are more."""
        paths = [os.path.join(self.folder_of(name), one) for one in (OUTPUT, LOG)]
        found = [path for path in paths if os.path.exists(path)]
        with open(found[0], encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()[-TOLD_LINES:]
        return f"It said: {' '.join(lines) or 'nothing'} (more in {' and '.join(found)})"

    # --- losing ------------------------------------------------------------------------------

    def kill(self, *names: str) -> None:
        """End members at once, by SIGKILL."""
        self._signal(names, signal.SIGKILL, "ended")

    def pause(self, *names: str) -> None:
        """Stop members without ending them, by SIGSTOP: their connections stay, and nothing is answered."""
        self._signal(names, signal.SIGSTOP, "paused", "ended")

    def resume(self, *names: str) -> None:
        """Let paused members go on, by SIGCONT."""
        self._signal(names, signal.SIGCONT, "running", "ended")

    def _signal(self, names: Collection[str], number: int, *states: str) -> None:
        """Send a signal to members, and return once each is in one of these states."""
        record = self._with_members(names)
        processes = [one.process for one in record.members if one.name in names]
        for process in processes:
            send_signal(process, number)
        if not holds_within(SIGNAL_SECONDS, lambda: all(process_state(process) in states for process in processes)):
            raise ClusterFailure(f"{', '.join(names)} took no notice of a signal for {SIGNAL_SECONDS:g} seconds.")

    # --- looking -----------------------------------------------------------------------------

    def status(self) -> list[MemberStatus]:
        """What each member does now. Takes ANSWER_SECONDS for each member that is silent."""
        record = self.record
        found = [
            MemberStatus(one.name, f"{one.address}:{record.cql_port}", state_of_node(record, one))
            for one in record.nodes
        ]
        found += [MemberStatus(one.name, one.url or "", state_of_server(one)) for one in record.servers]
        return found

    def folder_of(self, name: str) -> str:
        """The folder of a member, with its logs and data."""
        return os.path.join(self.folder, name if name.startswith("s") else f"node{name}")

    # --- ending ------------------------------------------------------------------------------

    def down(self, *, is_deleting: bool = False) -> None:
        """End all members. `is_deleting`: at once, and remove their data, their logs, and the folder if it is empty."""
        record = self.record
        groups: tuple[Sequence[ClusterMember], ...] = (record.servers, record.nodes)
        for members in groups:
            processes = [one.process for one in members]
            for number in (signal.SIGKILL,) if is_deleting else (signal.SIGTERM, signal.SIGCONT):
                for process in processes:
                    send_signal(process, number)
            if not holds_within(END_SECONDS, lambda: all(process_state(one) == "ended" for one in processes)):  # noqa: B023
                self.kill(*(one.name for one in members))
        if is_deleting:
            self._delete(record)

    def _delete(self, record: ClusterRecord) -> None:
        """Remove what belongs to the cluster; its file last, so that a deletion that fails can be tried again."""
        try:
            for one in record.members:
                if os.path.exists(self.folder_of(one.name)):
                    shutil.rmtree(self.folder_of(one.name))
            for name in (LOCK_FILE, FILE):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(os.path.join(self.folder, name))
        except OSError as error:
            raise ClusterFailure(f"{error.filename} cannot be removed: {error.strerror}.") from error
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)

    # --- the record --------------------------------------------------------------------------

    @contextlib.contextmanager
    def _changing(self) -> Iterator[ClusterRecord]:
        """The record, to be changed while no other process changes it. What has changed is kept if the rest fails."""
        record = self.record
        try:
            with open(os.path.join(self.folder, LOCK_FILE), "ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                record = self.record
                try:
                    yield record
                finally:
                    write_record(self.folder, record)
        except OSError as error:
            raise ClusterFailure(f"{self.folder} cannot be written: {error.strerror or error}.") from error

    def _with_members(self, names: Collection[str]) -> ClusterRecord:
        """The record, which has members with all these names."""
        record = self.record
        known = [one.name for one in record.members]
        for name in names:
            if name not in known:
                raise ClusterFailure(f"the cluster in {self.folder} has no {name}; it has {', '.join(known)}.")
        return record


@contextlib.contextmanager
def local_cluster(
    nodes: int = REPLICAS,
    servers: int = 0,
    *,
    commitlog_sync: CommitlogSync = "batch",
    heap_mb: int = HEAP_MB,
    server_options: Sequence[str] = (),
) -> Iterator[LocalCluster]:
    """A cluster for the block, in a temporary folder. Its processes and its data are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hashrange-cluster-") as folder:
        cluster = LocalCluster(folder)
        cluster.make(
            nodes=nodes, servers=servers, commitlog_sync=commitlog_sync, heap_mb=heap_mb, server_options=server_options
        )
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down(is_deleting=True)
            os.makedirs(folder, exist_ok=True)  # TemporaryDirectory will remove it


def _store_address(record: ClusterRecord) -> str:
    return f"cassandra://{','.join(f'{one.address}:{record.cql_port}' for one in record.nodes)}/{record.keyspace}"


def _server_command(record: ClusterRecord, server: HashrangeServer) -> list[str]:
    port = 0 if server.url is None else urlsplit(server.url).port
    command = [sys.executable, "-m", "hashrange", "serve", "--store", _store_address(record), "--port", str(port)]
    if len(record.nodes) < REPLICAS:
        command.append("--single-node")
    return [*command, *record.server_options]


def _called(member: ClusterMember) -> str:
    return f"node {member.name}" if isinstance(member, CassandraNode) else f"server {member.name}"


def _told(noun: str, members: Sequence[ClusterMember]) -> str:
    return f"{noun}{'' if len(members) == 1 else 's'} {', '.join(one.name for one in members)}"
