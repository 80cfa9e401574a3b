"""Who runs the nodes of DAX's clusters? A host, which opens an endpoint for each;
the control plane tells it which nodes there are.
"""

from typing import NamedTuple, Protocol


class NodePlace(NamedTuple):
    """Which node of which cluster."""

    account: str
    region: str
    cluster: str
    node_id: str


class NodeTerms(NamedTuple):
    """How a node's caches and connections behave. New terms take effect when the node starts again."""

    record_ttl_millis: int
    """Life of an item; 0: until there is no room."""
    query_ttl_millis: int
    """Life of a reply to a query or scan; 0: none are kept."""
    memory_bytes: int
    is_encrypted: bool = False


class NodeHost(Protocol):
    """Runs nodes: endpoints on loopback ports, each with caches of its own."""

    @property
    def has_certificate(self) -> bool:
        """True if nodes may be encrypted."""

    @property
    def nodes_max(self) -> int:
        """How many nodes may run; from the files that the process may open."""

    async def start(
        self, place: NodePlace, terms: NodeTerms, zone: str, port: int | None, *, must_have_port: bool
    ) -> int:
        """Open the node's endpoint, with empty caches; returns its port: `port` if that is free, otherwise another.

        Raises OSError if there is none, or if `port` is taken and it must have that.
        """

    async def listen_also(self, place: NodePlace, port: int | None) -> None:
        """Let the node, which runs, be reached at this port too, and at no further one than its own and this.
        Raises OSError if it is taken.
        """

    async def stop(self, place: NodePlace) -> None:
        """Close the node's endpoints and its connections, and forget its caches. Does nothing if it does not run."""

    def forget(self) -> None:
        """Empty the caches of all nodes: the content of the store has been replaced."""

    def address(self) -> str:
        """Host that clients connect to."""
