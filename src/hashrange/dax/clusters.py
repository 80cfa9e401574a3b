"""Which clusters are there? `Clusters` has those of all accounts with their groups and events,
kept as documents, and starts and stops their nodes.

Whatever takes time in the service ends at a time of service time, when the job `dax-clusters` looks;
without a delay of the settings, at once.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.dax.limits import EVENT_SECONDS, EVENTS_MAX, NODE_MEMORY_BYTES, SMALLEST_TYPE
from hashrange.dax.node_host import NodeHost, NodePlace, NodeTerms
from hashrange.dax.records import (
    DEFAULT_PARAMETER_GROUP,
    DEFAULT_SUBNET_GROUP,
    EVERYONE,
    SHARED_NAME,
    SHARED_REGION,
    Cluster,
    ClusterNode,
    DaxRecord,
    Event,
    ParameterGroup,
    SharedCluster,
    SubnetGroup,
)
from hashrange.messages import dax as sentences
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, again_if_changed

CLUSTER_PREFIX = "dax-cluster/"
PARAMETERS_PREFIX = "dax-parameter-group/"
SUBNETS_PREFIX = "dax-subnet-group/"
EVENTS_PREFIX = "dax-events/"
_log = logging.getLogger("hashrange.dax")


class _Running(NamedTuple):
    """A node that the host runs."""

    port: int
    terms: NodeTerms


class Clusters:
    """The clusters of one store."""

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        delay_seconds: float,
        memory_bytes: int | None,
        wake: Callable[[], None],
        make_host: Callable[[], Callable[[], NodeHost] | None],
    ) -> None:
        """`delay_seconds`: service time for which a cluster is creating, modifying or deleting, and a node rebooting.
        `memory_bytes`: of each node; None: that of its type. `wake` is called when the job has work.
        `make_host()`: the function that makes what runs the nodes; None without a server.
        """
        self._clusters = KeptRecords(documents, CLUSTER_PREFIX, Cluster, "DAX cluster")
        self._parameters = KeptRecords(documents, PARAMETERS_PREFIX, ParameterGroup, "parameter group")
        self._subnets = KeptRecords(documents, SUBNETS_PREFIX, SubnetGroup, "subnet group")
        self._events = KeptRecords(documents, EVENTS_PREFIX, list[Event], "list of DAX events")
        self._documents = documents
        self._clock = clock
        self._delay_seconds = delay_seconds
        self._memory_bytes = memory_bytes
        self.running_host: NodeHost | None = None
        self._make_host = make_host
        self._shared: SharedCluster | None = None
        self._running: dict[NodePlace, _Running] = {}
        """The nodes that the host runs."""
        self._failed: set[NodePlace] = set()
        """Nodes that could not be started."""
        self._stand_ins: dict[NodePlace, int] = {}
        """Nodes of these which also listen at the port where clients find their cluster,
        as the node that had it has gone."""
        self._generation = documents.generation
        self._settling = asyncio.Lock()
        self._replacing = asyncio.Lock()
        """A lock that is held while a record is replaced: all of an account note events in the same document."""
        """A lock that is held while nodes are started and stopped."""
        self._wake = wake

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    @property
    def until_seconds(self) -> float:
        """Service time at which something that begins now is done."""
        return self.now_seconds() + self._delay_seconds

    def host(self) -> NodeHost | None:
        """Who runs the nodes; None without a server. Raises StorageError."""
        if self.running_host is None and (make := self._make_host()) is not None:
            self.running_host = make()
        return self.running_host

    # --- what there is --------------------------------------------------------------------------

    def clusters(self, account: str, region: str) -> Sequence[Cluster]:
        """The clusters that a caller sees, in order of their names:
        its own, and that of everyone. Raises StorageError.
        """
        found = self._clusters.by_path(account, region) | self._clusters.by_path(EVERYONE, EVERYONE)
        return sorted(found.values(), key=lambda cluster: cluster.name)

    def cluster(self, account: str, region: str, name: str) -> Cluster | None:
        """The cluster of this name that a caller sees; None if there is none. Raises StorageError."""
        return next((one for one in self.clusters(account, region) if one.name == name.lower()), None)

    def count_nodes(self) -> int:
        """Number of nodes of all clusters, of all accounts. Raises StorageError."""
        return sum([len(cluster.nodes) for cluster in self._clusters.by_path().values()])

    def status_of(self, cluster: Cluster, node: ClusterNode) -> str:
        """The status of a node of a cluster, `failed` if the server cannot run it."""
        is_failed = node.status == "available" and _place(cluster, node) in self._failed
        return "failed" if is_failed else node.status

    def parameter_groups(self, account: str, region: str) -> Sequence[ParameterGroup]:
        """The parameter groups of an account and Region, that of the service first. Raises StorageError."""
        usual = ParameterGroup(
            account=account,
            region=region,
            name=DEFAULT_PARAMETER_GROUP,
            description="Default parameter group for dax1.0",
        )
        return [usual, *self._parameters.by_path(account, region).values()]

    def subnet_groups(self, account: str, region: str) -> Sequence[SubnetGroup]:
        """The subnet groups of an account and Region, the default one first. Raises StorageError."""
        usual = SubnetGroup(account=account, region=region, name=DEFAULT_SUBNET_GROUP, subnets=["subnet-default"])
        return [usual, *self._subnets.by_path(account, region).values()]

    def events(self, account: str, region: str) -> Sequence[Event]:
        """The events of the last 14 days, oldest first. Raises StorageError."""
        return self._recent(self._events.get(account, region))

    def _recent(self, events: Sequence[Event] | None) -> Sequence[Event]:
        oldest_seconds = self.now_seconds() - EVENT_SECONDS
        return [one for one in events or () if one.at_seconds >= oldest_seconds]

    # --- changes --------------------------------------------------------------------------------

    async def keep(self, before: Cluster | None, after: Cluster, *messages: str) -> None:
        """Create or replace a cluster, note events, and do what is due. Raises StorageError, and RecordsChanged if
        the cluster is no longer as it was `before`.
        """
        await self.replace(before, after, *messages)
        try:
            left_seconds = await self.settle()
        except OSError:  # a node has found no port; the job tries again
            left_seconds = 0.0
        if left_seconds is not None:
            self._wake()

    async def replace(self, before: DaxRecord | None, after: DaxRecord | None, *messages: str) -> None:
        """Create, replace or delete a cluster or group, and note events. Raises StorageError, and RecordsChanged if
        it is no longer as it was `before`.
        """
        subject = before or after
        assert subject is not None, "there was something, or there is"
        records: KeptRecords[Any] = self._clusters
        if not isinstance(subject, Cluster):
            records = self._parameters if isinstance(subject, ParameterGroup) else self._subnets
        async with self._replacing:
            changes = [records.replacement(before, after, *_path(subject))]
            if messages:
                changes.append(self._with_events(subject, *messages))
            await records.write(*changes)

    def _with_events(self, subject: DaxRecord, *messages: str) -> RecordChange:
        """The change that notes events. They have happened in whole milliseconds, as replies show it."""
        at_seconds = int(self.now_seconds() * 1000) / 1000
        added = [Event(at_seconds, subject.subject, subject.name, message) for message in messages]

        def update(events: list[Event] | None) -> list[Event]:
            return [*self._recent(events), *added][-EVENTS_MAX:]

        return self._events.updated(update, subject.account, subject.region)

    # --- nodes ----------------------------------------------------------------------------------

    async def serve(self, shared: SharedCluster | None) -> None:
        """Let the nodes run. `shared`: the cluster that everyone may use.
        Raises StorageError, and OSError if its port is taken.
        """
        self._shared = shared
        await self._keep_shared()
        await self.settle()
        if shared is not None and (port := self.shared_port) is not None:
            self._shared = shared._replace(port=port)  # it is found there after a reset too

    async def leave(self) -> None:
        """Let no nodes run, once the server makes no host any more; those that run are the host's to stop."""
        async with self._settling:
            self.running_host = None
            self._running.clear()
            self._stand_ins.clear()

    def may_change(self, cluster: Cluster) -> bool:
        """True if the callers that see this cluster may change it."""
        return cluster.account != EVERYONE or self._shared is None or self._shared.may_change

    @property
    def shared_port(self) -> int | None:
        """Port of the first node of the cluster that everyone may use; None while there is none."""
        ports = [running.port for place, running in sorted(self._running.items()) if place.account == EVERYONE]
        return ports[0] if ports else None

    @again_if_changed
    async def _keep_shared(self) -> None:
        """Let there be the cluster that everyone may use, or not. Its further nodes, its groups and tags are kept."""
        path = (EVERYONE, EVERYONE, SHARED_NAME)
        before, shared = self._clusters.get(*path), self._shared
        if shared is None:
            if before is not None:
                await self.replace(before, None)
            return
        if before is None:
            node = ClusterNode(
                node_id=f"{SHARED_NAME}-a",
                zone=f"{SHARED_REGION}a",
                created_seconds=self.now_seconds(),
                status="available",
            )
            changed = Cluster(
                account=EVERYONE,
                region=EVERYONE,
                name=SHARED_NAME,
                node_type=SMALLEST_TYPE,
                status="available",
                until_seconds=0.0,
                nodes=[node],
                created_seconds=self.now_seconds(),
                discovery_port=shared.port,
                security_groups=["sg-default"],
                encryption=shared.encryption,
            )
        else:
            changed = msgspec.structs.replace(before, encryption=shared.encryption, discovery_port=shared.port)
        if changed != before:
            await self.replace(before, changed)

    async def catch_up(self) -> None:
        """Let nodes run as the records say if the store's content has been replaced. Raises StorageError."""
        if self._generation != self._documents.generation:
            await self.settle()

    @again_if_changed
    async def settle(self) -> float | None:
        """End what is due, and start and stop nodes accordingly; returns the service time until something
        else is due. Raises StorageError.
        """
        async with self._settling:
            return await self._settle()

    async def _settle(self) -> float | None:
        generation = self._documents.generation
        if self._generation != generation and self._make_host() is not None:
            await self._keep_shared()
        left: list[float] = []
        wanted: set[NodePlace] = set()
        found = list(self._clusters.by_path())
        if not found and not self._running and self._generation == generation:
            return None
        for path in found:
            cluster = self._clusters.get(path)  # anew, as what comes before this one may have waited
            if cluster is not None and {cluster.status, *(node.status for node in cluster.nodes)} != {"available"}:
                left_seconds = cluster.until_seconds - self.now_seconds()
                if left_seconds > 0:
                    left.append(left_seconds)
                else:
                    cluster = await self._end(cluster)
            if cluster is not None:
                await self._run_nodes(cluster)
                wanted |= {_place(cluster, node) for node in cluster.nodes if node.status == "available"}
        for place in self._running.keys() - wanted:
            await self._stop(place)
        for path in self._clusters.by_path():
            await self._keep_found(path)
        self._generation = generation  # last, as `catch_up` waits for all of this
        return min(left, default=None)

    async def _end(self, cluster: Cluster) -> Cluster | None:
        """End what is under way in a cluster; None if it was its deletion."""
        if cluster.status == "deleting":
            await self.replace(cluster, None, "Cluster deleted.")
            return None
        group = self.parameters_of(cluster)
        nodes = []
        messages = []
        if cluster.status != "available":
            messages.append(f"Cluster {'created' if cluster.status == 'creating' else 'modified'}.")
        for node in cluster.nodes:
            if node.status == "deleting":
                messages.append(f"Removed node {node.node_id}.")
                continue
            changed = node
            if node.status != "available":
                await self._stop(_place(cluster, node))  # with it, its caches are forgotten
                messages.append(f"{'Added' if node.status == 'creating' else 'Rebooted'} node {node.node_id}.")
                changed = msgspec.structs.replace(
                    node,
                    status="available",
                    record_ttl_millis=group.record_ttl_millis,
                    query_ttl_millis=group.query_ttl_millis,
                )
            nodes.append(changed)
        ended = msgspec.structs.replace(cluster, status="available", nodes=nodes)
        await self.replace(cluster, ended, *messages)
        return ended

    def parameters_of(self, cluster: Cluster) -> ParameterGroup:
        """The parameter group of a cluster. Raises StorageError."""
        account, region = cluster.group_owner or (cluster.account, cluster.region)
        every = self.parameter_groups(account, region)
        return next((one for one in every if one.name == cluster.parameter_group), every[0])

    async def _run_nodes(self, cluster: Cluster) -> None:
        """Start the nodes that are available and do not run, and stop the others; note their ports."""
        own_ports = {_place(cluster, node): node.port for node in cluster.nodes if node.status == "available"}
        for place in own_ports.keys() & self._stand_ins.keys():
            if self._stand_ins[place] in own_ports.values():  # the node that had this port comes back
                await self._stand_in(place, None)
        for number, node in enumerate(cluster.nodes):
            place = _place(cluster, node)
            if node.status != "available":
                await self._stop(place)
                continue
            terms = self._terms(cluster, node)
            running = self._running.get(place)
            if running is not None and running.terms != terms:
                await self._stop(place)  # a snapshot knows this node otherwise
                running = None
            if running is None and (host := self.host()) is not None:
                await self._start(host, cluster, number, terms)
        now = self._clusters.get(*_path(cluster))  # anew, as starting a node takes time
        if now is not None:
            nodes = [
                msgspec.structs.replace(node, port=running.port)
                if (running := self._running.get(_place(now, node))) is not None
                else node
                for node in now.nodes
            ]
            if nodes != now.nodes:
                await self.replace(now, msgspec.structs.replace(now, nodes=nodes))

    async def _start(self, host: NodeHost, cluster: Cluster, number: int, terms: NodeTerms) -> None:
        """Start a node, or note why it does not run. Raises OSError if it must have its port and cannot."""
        node = cluster.nodes[number]
        place, shared = _place(cluster, node), self._shared if cluster.account == EVERYONE and not number else None
        wanted, reason = node.port if shared is None else shared.port, ""
        if len(self._running) >= host.nodes_max:
            reason = sentences.SERVER_NODE_QUOTA.format(most=host.nodes_max)
        else:
            try:
                port = await host.start(place, terms, node.zone, wanted or None, must_have_port=shared is not None)
                self._running[place] = _Running(port, terms)
            except OSError as error:
                if shared is not None:
                    raise
                reason = str(error)
        if reason and place not in self._failed:
            _log.error("node %s of a DAX cluster does not run: %s", node.node_id, reason)
        (self._failed.add if reason else self._failed.discard)(place)

    async def _keep_found(self, path: str) -> None:
        """Let clients find a cluster where they did: if no node has that port any more,
        another one listens there too.
        """
        cluster = self._clusters.get(path)
        if cluster is None:
            return
        places = [place for node in cluster.nodes if (place := _place(cluster, node)) in self._running]
        ports = [self._running[place].port for place in places]
        if not places or cluster.discovery_port in [*ports, *map(self._stand_ins.get, places)]:
            return
        if cluster.discovery_port:
            try:
                await self._stand_in(places[0], cluster.discovery_port)
            except OSError:  # another program has taken it
                pass
            else:
                return
        await self.replace(cluster, msgspec.structs.replace(cluster, discovery_port=ports[0]))

    async def _stand_in(self, place: NodePlace, port: int | None) -> None:
        """Let a node that runs also listen at this port, or not. Raises OSError if it is taken."""
        self._stand_ins.pop(place, None)
        if self.running_host is not None:
            await self.running_host.listen_also(place, port)
            if port is not None:
                self._stand_ins[place] = port

    def _terms(self, cluster: Cluster, node: ClusterNode) -> NodeTerms:
        memory_bytes = self._memory_bytes or NODE_MEMORY_BYTES[cluster.node_type]
        is_encrypted = cluster.encryption == "TLS"
        return NodeTerms(node.record_ttl_millis, node.query_ttl_millis, memory_bytes, is_encrypted)

    async def _stop(self, place: NodePlace) -> None:
        self._stand_ins.pop(place, None)
        if self._running.pop(place, None) is not None and self.running_host is not None:
            await self.running_host.stop(place)


def _place(cluster: Cluster, node: ClusterNode) -> NodePlace:
    return NodePlace(cluster.account, cluster.region, cluster.name, node.node_id)


def _path(record: DaxRecord) -> tuple[str, str, str]:
    return (record.account, record.region, record.name)
