"""Does a request come from a known signer? The fast path of SigV4:
about 5 µs with a signature check, under 1 µs without.

A client's requests of one day differ only in date, body and signature; the Authorization header up to its signature is
constant. Once all checks (`server.access`) have accepted a request, this constant part is cached with what is derived
from it: the signing key and, per header layout, a template of the canonical request. A request that does not match gets
all checks.
"""

from binascii import hexlify
from collections.abc import Callable
from hashlib import sha256
from hmac import compare_digest
from operator import itemgetter
from typing import Any

from hashrange.wire.canonical_request import signing_key
from hashrange.wire.http import HeaderLayout, HttpRequest
from hashrange.wire.sigv4 import ALGORITHM, Claim

SIGNATURE_LENGTH = 64
BEFORE_SIGNATURE, SIGNATURE = slice(-SIGNATURE_LENGTH), slice(-SIGNATURE_LENGTH, None)
"""Parts of an Authorization header that ends with its signature, as SDKs send it."""
LAYOUTS_PER_SIGNER_MAX = 8
_BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))

Canonical = tuple[bytes, Callable[[list[bytes | None]], Any]]
"""Template of the canonical request up to the payload's hash, and the function that picks the header values for it."""


class KnownSigner:
    """The sender of requests whose Authorization headers differ only in the signature.

    `secret` None: signatures are not checked, and `matches` must not be called.
    """

    __slots__ = ("_canonical_by_layout", "_inner", "_outer", "_scope_lines", "_signed_names", "day")

    def __init__(self, claim: Claim, secret: str | None) -> None:
        self.day = claim.day.encode()
        self._signed_names = claim.signed_names
        self._scope_lines = b"\n%b\n" % claim.scope.encode("latin-1")
        self._canonical_by_layout: dict[HeaderLayout, Canonical] = {}
        key = b"" if secret is None else signing_key(secret, claim.day, claim.region, claim.service)
        key = key.ljust(_BLOCK_BYTES, b"\0")
        # HMAC's inner and outer hash, already fed with the key: copying both costs half as much as `hmac.digest`.
        self._inner = sha256(key.translate(_INNER))
        self._outer = sha256(key.translate(_OUTER))

    def matches(self, request: HttpRequest, authorization: bytes, date: bytes) -> bool:
        """True if the signature of a `POST /` is right; False may mean *unknown*, as with UNSIGNED-PAYLOAD."""
        layout = request.layout
        try:
            template, pick = self._canonical_by_layout[layout]
        except KeyError:
            template, pick = self._learn(layout)
        canonical = template % pick(request.values) + hexlify(sha256(request.body).digest())
        inner = self._inner.copy()
        inner.update(_FIRST_LINE + date + self._scope_lines + hexlify(sha256(canonical).digest()))
        outer = self._outer.copy()
        outer.update(inner.digest())
        return compare_digest(hexlify(outer.digest()), authorization[SIGNATURE])

    def _learn(self, layout: HeaderLayout) -> Canonical:
        """Make the template of canonical requests with this header layout.

        No request matches it if a signed header is absent or repeated, or if only one header is signed. Unusual layouts
        are not learnt: those of a thousand signers would take gigabytes.
        """
        places = [layout.positions.get(name, ()) for name in self._signed_names]
        if not layout.is_usual or len(places) < 2 or any(len(place) != 1 for place in places):
            canonical: Canonical = (b"", lambda _: ())
        else:
            names = [name.replace(b"%", b"%%") for name in self._signed_names]
            lines = b"".join(name + b":%b\n" for name in names)
            canonical = (
                b"POST\n/\n\n%b\n%b\n" % (lines, b";".join(names)),
                itemgetter(*(place[0] for place in places)),
            )
        if layout.is_usual and len(self._canonical_by_layout) < LAYOUTS_PER_SIGNER_MAX:
            self._canonical_by_layout[layout] = canonical
        return canonical


_FIRST_LINE = ALGORITHM.encode() + b"\n"
