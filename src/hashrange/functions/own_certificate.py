"""How do handlers reach a server that has a certificate? At a host that the certificate names;
one that signs itself must be trusted too.

A certificate that somebody else has signed is not made known to handlers, unless the file ends with who signs itself:
alone, it would be no reason to trust it, and AWS_CA_BUNDLE would replace all others that an SDK trusts.
"""

import contextlib
import ipaddress
import ssl
from typing import Any, NamedTuple
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that lead to a server on this machine, in the order in which they are tried."""


class OwnCertificate(NamedTuple):
    """What handlers must know of the server's certificate."""

    names: tuple[str, ...]
    """The DNS names and IP addresses that it is for, as they stand in it."""
    is_own_authority: bool
    """True if whoever trusts the file trusts the certificate."""

    def endpoint_for(self, endpoint: str) -> str:
        """The endpoint with a host that the certificate names. If it names neither the endpoint's host nor,
        as this is on this machine, another name of it, the certificate's first name is taken:
        clients must reach the server by that.
        """
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        others = LOOPBACK if host in LOOPBACK else ()
        plain = [name for name in self.names if not name.startswith("*")]
        found = next((one for one in (host, *others) if self.is_for(one)), plain[0] if plain else host)
        shown = f"[{found}]" if ":" in found else found
        return f"{parts.scheme}://{shown}:{parts.port}"

    def is_for(self, host: str) -> bool:
        """True if the certificate names this host; `*` stands for one label."""
        address, host = _address(host), host.lower()
        if address is not None:
            return address in map(_address, self.names)
        _, _, domain = host.partition(".")
        return any(name.lower() == host or (domain and name.lower() == f"*.{domain}") for name in self.names)


def read_certificate(path: str) -> OwnCertificate | None:
    """The certificate of a file with which the server listens;
    None if the file cannot be read any more. Blocks shortly.
    """
    try:
        # SLF001: the library has no other decoder
        decode: Any = ssl._ssl._test_decode_cert  # type: ignore[attr-defined]  # noqa: SLF001
        first: dict[str, Any] = decode(path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(path)
    except OSError:
        return None
    authorities: list[dict[str, Any]] = [first, *context.get_ca_certs()]
    names = tuple(name for kind, name in first.get("subjectAltName", ()) if kind in {"DNS", "IP Address"})
    return OwnCertificate(names, any(one["subject"] == one["issuer"] for one in authorities))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip())
    return None
