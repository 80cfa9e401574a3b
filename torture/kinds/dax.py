"""Which requests harm a node of DAX? Large items that are put and got through it, and long lists of attribute names."""

from benchmarks.dax_bytes import IDS, as_bytes, hello
from benchmarks.signing import REGION
from hashrange.dax.attribute_lists import first_id
from hashrange.wire.dax.writing import ARRAY, MAP, NULL, TRUE, head, write_integer, write_text
from torture.kinds.kind import Conditions, Hostile, Kind
from torture.kinds.needs import TABLE

HAS_NODE = Conditions(flags=("--dax-port", "0"), has_credentials=False)
VALUES = 190_000
"""Values of an item: of a list, each counts as two bytes."""
NAMES = 60_000
CONSISTENT = head(MAP, 1) + head(0, 2) + TRUE
_NAMES = ("values",)
_KEY = b"\x63dax0"
"""Partition key `dax` as CBOR, and the sort key `0`."""


def begun(method: str) -> bytearray:
    """The begin of a request."""
    out = bytearray(head(0, 1))
    write_integer(out, IDS[method])
    return out


def dax_request(content: bytes) -> Hostile:
    """A request that is sent to the node."""
    return Hostile("DAX", content, len(content), raw=lambda _host: content)


def list_request(names: tuple[str, ...]) -> Hostile:
    """Make an attribute list."""
    out = begun("defineAttributeListId") + head(ARRAY, len(names))
    for name in names:
        write_text(out, name)
    return dax_request(bytes(out))


def item_request(method: str, rest: bytes) -> Hostile:
    """A request for the one item."""
    return dax_request(bytes(begun(method)) + as_bytes(TABLE.encode()) + as_bytes(_KEY) + rest)


def large_item() -> Hostile:
    """Put a list of many numbers, and get it, past the cache and from it."""
    item = bytearray()
    write_integer(item, first_id(_NAMES))
    item += head(ARRAY, VALUES) + bytes(VALUES)
    put = item_request("putItem", as_bytes(bytes(item)) + NULL)
    gets = (item_request("getItem", CONSISTENT), item_request("getItem", NULL))
    return list_request(_NAMES)._replace(then=(put, *gets))


def many_names() -> Hostile:
    """Make a list of very many names, and put and get an item that has them."""
    names = tuple([f"{number:05}" for number in range(NAMES)])
    item = bytearray()
    list_id = first_id(names)
    write_integer(item, list_id)
    item += NULL * NAMES
    asked = begun("defineAttributeList")
    write_integer(asked, list_id)
    put = item_request("putItem", as_bytes(bytes(item)) + NULL)
    return list_request(names)._replace(then=(dax_request(bytes(asked)), put, item_request("getItem", CONSISTENT)))


def greeting() -> bytes:
    """What a connection begins with."""
    return hello(REGION)


KINDS = tuple(
    Kind(name, make, ("200",), conditions=HAS_NODE, behaviour="dax")
    for name, make in (("dax-large-items", large_item), ("dax-many-names", many_names))
)
