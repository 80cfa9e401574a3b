"""How does a reply become bytes? Members are spliced: stored rows go out unread.

A reply is a list of encoded members, `b'"Item":{…}'`, joined once.
"""

import msgspec

ENCODER = msgspec.json.Encoder()


def join_members(members: list[bytes]) -> bytes:
    """The JSON object of already encoded members."""
    return b"{" + b",".join(members) + b"}"
