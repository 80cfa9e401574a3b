"""How is a large body of BatchWriteItem or TransactWriteItems decoded? Element by element;
the limit on JSON members applies to each element alone.

First an outline is read: the request with each element as raw JSON. The outline's type is made from the request's
struct and the struct of the elements, `JsonWire.element_type` (BatchWriteItem: WriteRequest).
"""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_args, get_origin

import msgspec

from hashrange.wire.body_members import decode_large
from hashrange.wire.wide_maps import Struct


@cache
def decoder_in_pieces(request: Struct, piece: Struct) -> Callable[[bytes], Any]:
    """Return a function that decodes a body into the struct `request`, and the elements of its lists one at a time.

    `piece`: struct of these elements (`JsonWire.element_type`). The function raises what msgspec's decoder raises, and
    what `check_member_count` raises for one element. Making it takes half a millisecond, once.
    """
    fields = msgspec.structs.fields(request)
    outline_types = {field.name: _with_raw(field.type, piece) for field in fields}
    divided = [field.name for field in fields if outline_types[field.name] != field.type]
    assert divided, f"{request.__name__} has no list of {piece.__name__}"
    outline = msgspec.defstruct(
        "Outline", [(field.name, outline_types[field.name], field.default) for field in fields], kw_only=True, gc=False
    )
    read_outline = msgspec.json.Decoder(outline).decode
    piece_decoder = msgspec.json.Decoder(piece)

    def decode(body: bytes) -> Any:
        members = msgspec.structs.asdict(read_outline(body))
        for name in divided:
            members[name] = _decoded(members[name], piece_decoder)
        return request(**members)

    return decode


def _with_raw(annotation: Any, piece: Struct) -> Any:
    """Return a type annotation with a list of raw JSON for each list of the struct `piece`; constraints stay."""
    if annotation == list[piece]:  # type: ignore[valid-type]  # a type made at run time
        return list[msgspec.Raw]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Annotated[(_with_raw(arguments[0], piece), *arguments[1:])]
    if origin is dict:
        return dict[arguments[0], _with_raw(arguments[1], piece)]  # type: ignore[misc,valid-type]  # made at run time
    return annotation


def _decoded(texts: Any, decoder: "msgspec.json.Decoder[Any]") -> Any:
    """Decode a list of raw JSON elements, or a map of such lists."""
    if isinstance(texts, dict):
        return {name: _decoded(some, decoder) for name, some in texts.items()}
    return [decode_large(bytes(text), decoder) for text in texts]
