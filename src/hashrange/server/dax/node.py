"""How does one DAX node answer? Metadata by itself, reads from its caches if they know, everything else by DynamoDB.

The methods with items are in `single_items.py`, `pages.py`, `batches.py` and `transactions.py`.
"""

import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from hashrange.dax.attribute_lists import LAYOUT_NAMES_MAX, LAYOUTS_MAX, AttributeLists, TooManyLists
from hashrange.dax.node_caches import ItemKey, NodeCaches, PassingContent
from hashrange.errors import THROTTLED, ApiError, ResourceNotFoundException
from hashrange.items.steps import walk
from hashrange.items.types import Item
from hashrange.operations.operation import Scope
from hashrange.server.credentials import KnownKeys
from hashrange.server.dax import results
from hashrange.server.dax.arguments import list_of, text_of
from hashrange.server.dax.authorization import EXPIRED, Authorized, DaxRefusal, authorize
from hashrange.server.dax.call import WriteReply, run
from hashrange.server.dax.connection import DaxAnswer, DaxConnection
from hashrange.server.dax.errors import WriteItem, dax_error, unauthorized
from hashrange.server.dax.tables import TableShape, TableShapes
from hashrange.service.service import Service
from hashrange.wire.dax.attribute_values import write_attribute_value
from hashrange.wire.dax.keys import item_layout
from hashrange.wire.dax.reading import TAG_STRING_SET, BadBytes, Tagged
from hashrange.wire.dax.requests import DaxRequest
from hashrange.wire.dax.writing import MAP, head, write_bytes, write_integer, write_text

FAULT_STATUS = 500
GET_ITEM = "getItem"
"""The method that begins outside of workers: if the cache knows the item, its reply takes a few microseconds."""


class NodeEndpoint(NamedTuple):
    """A node as clients find it."""

    number: int
    host: str
    """Name or address; None of either: the address that the client has reached."""
    port: int
    is_leader: bool
    zone: str


Method = Callable[["DaxNode", Scope, list[Any], DaxAnswer], None]


class NodeSurroundings(NamedTuple):
    """What all nodes of a server share."""

    service: Service
    lists: AttributeLists
    shapes: TableShapes
    known_keys: KnownKeys | None
    do_later: Callable[[Coroutine[Any, Any, None]], None]
    """Runs a coroutine; the server waits for its end."""


class DaxNode:
    """One node."""

    def __init__(
        self,
        shared: NodeSurroundings,
        caches: NodeCaches,
        endpoints: Callable[[], Sequence[NodeEndpoint]],
        methods: Mapping[str, Method],
        owner: tuple[str, str] | None,
    ) -> None:
        """`owner`: account and Region of the cluster, of which clients must be;
        None: each client sees its own tables.
        """
        self._shared = shared
        self.service = shared.service
        self.caches = caches
        self.lists = shared.lists
        self.shapes = shared.shapes
        self._endpoints = endpoints
        self._methods = methods
        self._owner = owner

    # --- requests -------------------------------------------------------------------------------

    def authorize(self, connection: DaxConnection, request: DaxRequest) -> None:
        """Set the connection's scope, or why its next request is refused."""
        found = authorize(request.arguments, self._shared.known_keys, self.service.clock.wall_time)
        if isinstance(found, Authorized) and self._owner not in (None, found[:2]):
            found = DaxRefusal("AccessDeniedException", "This cluster belongs to another account or Region.")
        connection.temporary_key = None
        if isinstance(found, DaxRefusal):
            connection.scope, connection.refusal = None, found
        else:
            connection.scope, connection.refusal = self.service.scope(*found[:2]), None
            connection.temporary_key = found.temporary

    def run_long(self, work: Callable[..., None], *arguments: Any) -> None:
        """Call `work` in a worker, now or in a later turn."""
        self.service.workers.run_in_turn(work, *arguments)

    def refusal_of(self, connection: DaxConnection) -> bytes:
        """The reply to a client that is not let in, or has not said who it is."""
        counts = self.caches.counts
        for name in ("TotalRequestCount", "ErrorRequestCount", "FailedRequestCount"):
            counts[name] += 1
        return unauthorized(connection.refusal)

    def begin(self, connection: DaxConnection, request: DaxRequest) -> None:
        """Answer a request, now or later: in a worker, except for what is always short."""
        key = connection.temporary_key
        if key is not None and self._shared.known_keys is not None and self._shared.known_keys.is_expired(key):
            connection.scope, connection.refusal, connection.temporary_key = None, EXPIRED, None
        scope = connection.scope
        if scope is None:
            connection.send(self.refusal_of(connection))
            return
        self.caches.counts["TotalRequestCount"] += 1
        method, arguments = request
        try:
            if method == GET_ITEM:
                self._methods[method](self, scope, arguments, connection)
            elif method == "endpoints":
                connection.send(_endpoints_reply(self._endpoints(), connection.local_host))
            else:
                self.run_long(self.answer, self._methods[method], scope, arguments, connection)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            connection.send(self.error(error))

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
        """Let DynamoDB answer. Raises the ApiError of malformed members."""

        def write_error(error: BaseException, wording: Any) -> bytes:
            return self.error(error, write_item, wording)

        run(self.service, scope, operation, members, answer, write, write_error, self.deliver)

    def deliver(self, answer: DaxAnswer, content: bytes) -> None:
        """Send a reply, once the attribute lists that it names are durable."""
        if self.lists.is_durable:
            answer.send(content)
        else:
            self._shared.do_later(self._deliver_later(answer, content))

    async def _deliver_later(self, answer: DaxAnswer, content: bytes) -> None:
        try:
            await self.lists.write()
        except Exception as error:  # noqa: BLE001 - the client gets an answer
            answer.send(self.error(error))
            return
        store = self.service.store

        def send(error: BaseException | None) -> None:
            answer.send(content if error is None else self.error(error))

        store.when_durable(store.position(), send)

    # --- items ----------------------------------------------------------------------------------

    def item_key(self, scope: Scope, table: str, key: bytes) -> ItemKey:
        """The name of an item in caches. `table`: its name, not its ARN."""
        return (scope.account, scope.region, table, key)

    def content_of(self, scope: Scope, shape: TableShape, item: Item) -> bytes:
        """An item as caches keep it, or as `PassingContent`, which they do not keep. Gives way."""
        lists, names, is_passing = self.lists.of(scope.account), tuple(item), False
        is_long = len(names) > LAYOUT_NAMES_MAX
        layout = None if is_long else lists.layouts.get((shape, names))
        if layout is None:
            uses = lists.passing_uses
            layout = item_layout(shape.schema, names, lists.id_of)
            is_passing = lists.passing_uses != uses
            if not is_passing and not is_long:
                if len(lists.layouts) >= LAYOUTS_MAX:
                    lists.layouts.clear()
                lists.layouts[shape, names] = layout
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


# --- metadata -----------------------------------------------------------------------------------


def define_key_schema(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """The names and types of a table's key attributes, the partition key first."""
    table_name = text_of(arguments[0])
    try:
        shape = node.shapes.find(scope, table_name)
    except ResourceNotFoundException:
        node.service.hints.table_not_found(scope, [table_name])
        raise
    out = bytearray(results.SUCCESS)
    out += head(MAP, len(shape.schema))
    for name, kind in shape.schema:
        write_text(out, name)
        write_text(out, kind)
    answer.send(bytes(out))


def define_attribute_list(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """The names of an attribute list."""
    if arguments[0].__class__ is not int:
        raise BadBytes("an id was expected")
    elements = []
    for name in walk(node.lists.of(scope.account).names_of(arguments[0])):
        out = bytearray()
        write_text(out, name)
        elements.append(bytes(out))
    answer.send(results.SUCCESS + results.array(elements))


def define_attribute_list_id(node: DaxNode, scope: Scope, arguments: list[Any], answer: DaxAnswer) -> None:
    """The id of an attribute list."""
    listed = arguments[0]
    if listed.__class__ is Tagged and listed.tag == TAG_STRING_SET:
        listed = listed.value  # so the client for Java writes it
    names = tuple([text_of(name) for name in walk(list_of(listed))])
    out = bytearray(results.SUCCESS)
    write_integer(out, node.lists.of(scope.account).define(names))
    node.deliver(answer, bytes(out))


METADATA: Mapping[str, Method] = {
    "defineKeySchema": define_key_schema,
    "defineAttributeList": define_attribute_list,
    "defineAttributeListId": define_attribute_list_id,
}


def _endpoints_reply(endpoints: Sequence[NodeEndpoint], reached: str) -> bytes:
    out = bytearray(results.SUCCESS)
    listed = []
    for one in endpoints:
        own = bytearray(head(MAP, 7))
        host = one.host or reached
        for number, value in enumerate(
            (one.number, host, _address(host), one.port, 1 if one.is_leader else 2, one.zone, 0)
        ):
            write_integer(own, number)
            if isinstance(value, bytes):
                write_bytes(own, value)
            elif isinstance(value, str):
                write_text(own, value)
            else:
                write_integer(own, value)
        listed.append(bytes(own))
    return bytes(out) + results.array(listed)


def _address(host: str) -> bytes:
    """An address as bytes. A name is looked up, as clients connect to addresses alone."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_pton(family, host.partition("%")[0])
        except OSError:
            continue
    return socket.inet_aton(socket.gethostbyname(host))
