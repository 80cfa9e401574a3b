"""Is a member of a cluster ready, and does it answer? Asks the member itself, as a client would."""

import http.client
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

from hashrange.local_cluster.cluster_file import CassandraNode, ClusterMember, ClusterRecord, HashrangeServer
from hashrange.local_cluster.cql_frames import ANSWER_SECONDS, CqlRefusal, count_in, run_query
from hashrange.local_cluster.processes import process_state

_FROM_ITSELF = "SELECT key FROM system.local"
_PEERS = "SELECT count(*) FROM system.peers_v2"
_FROM_ALL = "SELECT session_id FROM system_traces.sessions LIMIT 1"
"""At ALL, a node must reach all that it knows: each of them has rows of this keyspace, of two replicas."""

MemberState = Literal["ready", "silent", "paused", "ended"]
"""`silent`: it runs, and does not answer."""


def reaches_all_nodes(record: ClusterRecord, node: CassandraNode) -> bool:
    """True if a node answers, knows all others and reaches them. `record` has more than one node."""
    return _executes(node, record, _FROM_ALL, others=len(record.nodes) - 1)


def answers_itself(record: ClusterRecord, node: CassandraNode) -> bool:
    """True if a node answers, whatever it knows of the others."""
    return _executes(node, record)


def state_of_node(record: ClusterRecord, node: CassandraNode) -> MemberState:
    """What a node does now."""
    return _state(node, lambda: answers_itself(record, node))


def state_of_server(server: HashrangeServer) -> MemberState:
    """What a server does now."""
    return _state(server, lambda: server.url is not None and _is_healthy(server.url))


def _state(member: ClusterMember, answers: Callable[[], bool]) -> MemberState:
    state = process_state(member.process)
    if state == "running":
        return "ready" if answers() else "silent"
    return state


def _executes(node: CassandraNode, record: ClusterRecord, query: str = _FROM_ITSELF, others: int | None = None) -> bool:
    """Does a node execute a query? If `others` is given: at ALL, and once it knows so many other nodes."""
    place = node.address, record.cql_port
    try:
        if others is not None and count_in(run_query(*place, _PEERS)) != others:
            return False
        run_query(*place, query, "ONE" if others is None else "ALL")
    except (OSError, CqlRefusal):
        return False
    return True


def _is_healthy(url: str) -> bool:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
