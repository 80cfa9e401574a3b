"""How does one DAX node answer? Metadata by itself, reads from its caches if they know, everything else by DynamoDB.

DynamoDB answers by a call of the service, as for any protocol; the reply is written for the client by the method that
asked. A reply that names attribute lists which are not durable yet is held by a call too, which writes the lists.
The methods are in `metadata.py`, `single_items.py`, `pages.py`, `batches.py` and `transactions.py`.
"""

import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address
from typing import Any, ClassVar, NamedTuple

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.dax.attribute_lists import LAYOUT_NAMES_MAX, LAYOUTS_MAX, AttributeLists, TooManyLists
from hashrange.dax.node_caches import ItemKey, NodeCaches, PassingContent
from hashrange.errors import (
    THROTTLED,
    Abandoned,
    AccessDeniedException,
    ApiError,
    ExpiredTokenException,
    Malformed,
)
from hashrange.functions.host_lookups import HOSTS
from hashrange.items.steps import gave_way, walk
from hashrange.items.types import Item
from hashrange.messages.dax import NODE_OF_OTHERS
from hashrange.messages.signing import EXPIRED_SESSION_TOKEN
from hashrange.operations.meter import NOTHING_USED, Meter
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.server.credentials import KnownKeys
from hashrange.server.dax import results
from hashrange.server.dax.authorization import DaxClient, authorize
from hashrange.server.dax.errors import WriteItem, dax_error, unauthorized
from hashrange.server.dax.tables import TableShape, TableShapes
from hashrange.server.dax.wide_members import refused_request, request_json, request_struct
from hashrange.server.protocols.first_fault import first_fault
from hashrange.service.call import Call, CallKind
from hashrange.service.service import Service
from hashrange.wire.dax.attribute_values import write_attribute_value
from hashrange.wire.dax.keys import item_layout
from hashrange.wire.dax.reading import BadBytes
from hashrange.wire.dax.requests import DaxRequest
from hashrange.wire.dax.writing import as_cbor
from hashrange.wire.piecewise import free

FAULT_STATUS = 500
GET_ITEM = "getItem"
"""The method that begins outside of workers: if the cache knows the item, its reply takes a few microseconds."""


class DaxAnswer:
    """Takes the reply to one request. This one drops it, as nobody waits for it; a connection sends it."""

    on_over: Callable[[], object] = staticmethod(lambda: None)
    """Called when `is_over` has become True, or soon after."""

    @property
    def is_over(self) -> bool:
        """True if nobody waits for the reply any more."""
        return False

    @property
    def local_host(self) -> str:
        """The address of this end, in numbers, which the client has reached."""
        return ""

    def follow(self, on_over: Callable[[], object]) -> None:
        """Call `on_over` when `is_over` has become True."""
        self.on_over = on_over

    def send(self, content: bytes) -> None:
        """Send the reply."""

    def cut(self, content: bytes) -> None:
        """Send only the begin of a reply, and end the connection."""


class NodeEndpoint(NamedTuple):
    """A node as clients find it."""

    number: int
    host: str
    """Name or address; None of either: the address that the client has reached."""
    port: int
    is_leader: bool
    zone: str


Method = Callable[["DaxNode", Scope, list[Any], DaxAnswer], None]


WriteReply = Callable[[dict[str, Any], Meter], bytes]
"""Members of DynamoDB's reply, which may hold rows, and what it consumed → the reply to the client."""


class DaxNode:
    """One node."""

    def __init__(
        self,
        service: Service,
        lists: AttributeLists,
        shapes: TableShapes,
        known_keys: KnownKeys | None,
        caches: NodeCaches,
        endpoints: Callable[[], Sequence[NodeEndpoint]],
        methods: Mapping[str, Method],
        owner: tuple[str, str] | None,
    ) -> None:
        """All nodes of a server share the first four. `owner`: account and Region of the cluster, of which clients
        must be; None: each client sees its own tables.
        """
        self.service = service
        self.lists = lists
        self.shapes = shapes
        self._known_keys = known_keys
        self.caches = caches
        self._endpoints = endpoints
        self._methods = methods
        self._owner = owner
        self.is_over = False
        """True once the node has been stopped: it answers nobody any more."""

    # --- requests -------------------------------------------------------------------------------

    def authorize(self, request: DaxRequest) -> DaxClient:
        """Who a client is that asks to be let in, or why it is not."""
        try:
            wall_time = self.service.clock.wall_time
            account, region, temporary = authorize(request.arguments, self._known_keys, wall_time)
            if self._owner not in (None, (account, region)):
                raise AccessDeniedException(NODE_OF_OTHERS)
        except ApiError as refusal:
            return DaxClient(None, refusal.with_traceback(None))
        return DaxClient(self.service.scope(account, region), None, temporary)

    def look_again(self, client: DaxClient) -> DaxClient:
        """The client or, once its key has expired, one that is not let in."""
        key, known_keys = client.temporary_key, self._known_keys
        if key is None or not known_keys or not known_keys.is_expired(key):
            return client
        return DaxClient(None, ExpiredTokenException(EXPIRED_SESSION_TOKEN))

    def run_long(self, work: Callable[..., None], *arguments: Any) -> None:
        """Call `work` in a worker, now or in a later turn."""
        self.service.workers.run_in_turn(work, *arguments)

    def refusal_of(self, client: DaxClient) -> bytes:
        """The reply to a client that is not let in, or has not said who it is."""
        counts = self.caches.counts
        for name in ("TotalRequestCount", "ErrorRequestCount", "FailedRequestCount"):
            counts[name] += 1
        return unauthorized(client.refusal)

    def begin(self, client: DaxClient, request: DaxRequest, answer: DaxAnswer) -> None:
        """Answer a request, now or later: in a worker, except for what is always short."""
        scope = client.scope
        if scope is None:
            answer.send(self.refusal_of(client))
            return
        self.caches.counts["TotalRequestCount"] += 1
        method, arguments = request
        if method == GET_ITEM:
            self.answer(self._methods[method], scope, arguments, answer)
        elif method == "endpoints":
            self.service.features.begin(self._tell_endpoints(answer))
        else:
            self.run_long(self.answer, self._methods[method], scope, arguments, answer)

    async def _tell_endpoints(self, answer: DaxAnswer) -> None:
        """Answer with the nodes of the cluster, once the addresses of their hosts are known."""
        try:
            endpoints, reached = self._endpoints(), answer.local_host
            hosts = {one.host or reached for one in endpoints}
            addresses = {host: await _address(host) for host in hosts}
            answer.send(_endpoints_reply(endpoints, addresses, reached))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            answer.send(self.error(error))

    def answer(self, method: Method, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
        """Answer by this method, or with its error."""
        try:
            method(self, scope, arguments, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            answer.send(self.error(error))

    def error(self, error: BaseException, write_item: WriteItem | None = None, wording: Any = "bare") -> bytes:
        """The reply for an error, which is counted."""
        counts = self.caches.counts
        counts["FailedRequestCount"] += 1
        counts[_kind_of(error)] += 1
        return dax_error(error, wording, write_item)

    def ask(
        self,
        scope: Scope,
        operation: str,
        members: dict[str, Any],
        answer: DaxAnswer,
        write: WriteReply,
        write_item: WriteItem | None = None,
    ) -> None:
        """Let DynamoDB answer, now or later. Raises the ApiError of malformed members."""
        record, is_explained = self.service.operations[operation], False
        try:
            request: Any = request_struct(members, record.request)
        except (msgspec.ValidationError, RecursionError):
            request, is_explained = refused_request(members, record)
        call: Call = DaxCall(
            scope, record, request, NOTHING_USED, 0, is_explained, self, members, answer, write, write_item, gave_way()
        )
        self.service.run(deque((call,)))

    def deliver(self, answer: DaxAnswer, content: bytes) -> None:
        """Send a reply, once the attribute lists that it names are durable."""
        if self.lists.is_durable:
            answer.send(content)
            return
        call: Call = _ListsCall(self.lists, _WRITING_LISTS, None, NOTHING_USED, 0, True, self, answer, content)
        self.service.run(deque((call,)))

    # --- items ----------------------------------------------------------------------------------

    def item_key(self, scope: Scope, table: str, key: bytes) -> ItemKey:
        """The name of an item in caches. `table`: its name, not its ARN."""
        return (scope.account, scope.region, table, key)

    def content_of(self, scope: Scope, shape: TableShape, item: Item) -> bytes:
        """An item as caches keep it, or as `PassingContent`, which they do not keep. Gives way."""
        lists, names, is_passing = self.lists, tuple(item), False
        is_long = len(names) > LAYOUT_NAMES_MAX
        layout = None if is_long else lists.layouts.get((scope.account, shape, names))
        if layout is None:
            uses, generation = lists.passing_uses, lists.generation
            layout = item_layout(shape.schema, names, partial(lists.id_of, scope.account))
            is_passing = lists.passing_uses != uses
            if not is_passing and not is_long and generation == lists.generation:
                if len(lists.layouts) >= LAYOUTS_MAX:
                    lists.layouts.clear()
                lists.layouts[scope.account, shape, names] = layout
        out = bytearray(layout[0])
        for name in walk(layout[1]):
            write_attribute_value(out, item[name])
        return PassingContent(out) if is_passing else bytes(out)


def _kind_of(error: BaseException) -> str:
    """The metric of failed requests in which one with this error counts."""
    if isinstance(error, THROTTLED):
        return "ThrottledRequestCount"
    is_clients = isinstance(error, BadBytes | TooManyLists | RecursionError) or (
        isinstance(error, ApiError) and error.http_status < FAULT_STATUS
    )
    return "ErrorRequestCount" if is_clients else "FaultRequestCount"


def _endpoints_reply(endpoints: Sequence[NodeEndpoint], addresses: Mapping[str, bytes], reached: str) -> bytes:
    listed = []
    for one in endpoints:
        host = one.host or reached
        members = (one.number, host, addresses[host], one.port, 1 if one.is_leader else 2, one.zone, 0)
        listed.append(dict(enumerate(members)))
    return results.SUCCESS + as_cbor(listed)


async def _address(host: str) -> bytes:
    """An address as bytes. A name is looked up, as clients connect to addresses alone."""
    address, *_ = await HOSTS.addresses_of(host, socket.AF_INET)
    return ip_address(address).packed


# --- calls ----------------------------------------------------------------------------------------


class DaxCall(Call):
    """One request to DynamoDB."""

    node: DaxNode
    members: dict[str, Any]
    answer: DaxAnswer
    write: WriteReply
    write_item: WriteItem | None
    ways_before: int
    """How many times work had given way when the request began."""
    content: bytes = b""

    @property
    def has_left(self) -> bool:
        """True if the client has left."""
        return self.answer.is_over

    def done(self, reply: Reply | None) -> None:
        """Write the reply, and free a long request."""
        self.content = self.write({} if reply is None else reply, self.meter)
        self._free()

    def refuse(self, error: ApiError) -> None:
        """Write the error, and free a long request."""
        self.content = self.node.error(error, self.write_item, self.operation.wire.wording)
        self._free()

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Return the error or an earlier fault of the members; None if the operation must run again (see `Call`)."""
        return first_fault(self, request_json(self.members), error)

    def send(self) -> None:
        """Send what has been written."""
        self.node.deliver(self.answer, self.content)

    def hold_reply(self, on_left: Callable[[], object]) -> int | None:
        """Keep what has been written until the client leaves."""
        self.answer.follow(on_left)
        return None if self.answer.is_over else len(self.content)

    def cut_reply(self, share: float) -> None:
        """Send this share of the reply, and end the connection."""
        self.answer.cut(self.content[: int(len(self.content) * share)])

    def fail(self, error: BaseException) -> None:
        """Send an internal error, unless the client has left."""
        if not isinstance(error, Abandoned):
            self.answer.send(self.node.error(error, self.write_item))
        self._free()

    def _free(self) -> None:
        """Free the request piece by piece, unless it was so short that nothing has given way."""
        if gave_way() != self.ways_before:
            free(self.members)


_WRITING_LISTS = Operation("attribute lists", msgspec.Struct, lambda lists, _: lists.write(), None, writes=True)


class _ListsCall(Call):
    """The writing of attribute lists, for a reply that names them; its `scope` is the lists."""

    kind: ClassVar[CallKind] = "own"
    node: DaxNode
    answer: DaxAnswer
    content: bytes

    def done(self, reply: object) -> None:
        """The reply has been written before."""

    def send(self) -> None:
        """Send the reply."""
        self.answer.send(self.content)

    def fail(self, error: BaseException) -> None:
        """Send an internal error instead."""
        self.answer.send(self.node.error(error))
