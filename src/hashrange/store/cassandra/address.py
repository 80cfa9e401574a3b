"""Where is a cluster, and how is it reached? The address in `--store`, `cassandra://HOST[:PORT],HOST/KEYSPACE`,
and what other options add to it.

A password is never part of the address, which other users of the machine can read and which stands in logs.
"""

import os
import re
from collections.abc import Mapping

import msgspec

from hashrange.settings import Settings, SettingUnusable

SCHEME = "cassandra://"
USUAL_PORT = 9042
PASSWORD_VARIABLE = "HASHRANGE_STORE_PASSWORD"  # noqa: S105 - the name of a variable, not its value
_FORM = f"It must have the form {SCHEME}HOST[:PORT],HOST/KEYSPACE, such as {SCHEME}10.0.0.1,10.0.0.2/hashrange."
_is_keyspace = re.compile(r"[a-z][a-z0-9_]{0,47}").fullmatch
_is_host = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*").fullmatch
_HOST_AND_PORT = re.compile(r"(?:\[([^\[\]]*)\]|([^\[\]:]*))(?::(.*))?").fullmatch


class ClusterAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a cluster to begin with, a keyspace, and what they ask for. Its text has no secrets."""

    hosts: tuple[str, ...]
    """Names or IP addresses; an IPv6 address is without brackets."""
    port: int = USUAL_PORT
    keyspace: str
    user: str | None = None
    password: str | None = None
    """Given exactly if `user` is."""
    ca_path: str | None = None
    """File of the certificates that may sign those of nodes; None: connections are not encrypted."""
    datacenter: str | None = None
    """That whose nodes are asked; None: that of the first node that answers."""
    is_single_node: bool = False
    """True: one copy of each row is enough."""

    def __str__(self) -> str:
        """The address without user and password."""
        hosts = ",".join(f"[{host}]" if ":" in host else host for host in self.hosts)
        port = "" if self.port == USUAL_PORT else f":{self.port}"
        return f"{SCHEME}{hosts}{port}/{self.keyspace}"

    __repr__ = __str__


def address_of(settings: Settings, environment: Mapping[str, str] = os.environ) -> ClusterAddress:
    """The address of the cluster of these settings. Raises SettingUnusable, without any secret in it."""
    assert settings.store is not None, "only a cluster has an address"
    hosts, port, keyspace = read_address(settings.store)
    password = _password(settings.store_password_file, environment)
    if (password is None) != (settings.store_user is None):
        what = (
            "--store-user is set without a password" if password is None else "a password is set without --store-user"
        )
        raise SettingUnusable(
            f"{what}, but Cassandra asks for both, or for none. Give the user with --store-user, and the password in"
            f" the variable {PASSWORD_VARIABLE} or with --store-password-file."
        )
    return ClusterAddress(
        hosts=hosts,
        port=port,
        keyspace=keyspace,
        user=settings.store_user,
        password=password,
        ca_path=settings.store_ca,
        datacenter=settings.store_datacenter,
        is_single_node=settings.single_node,
    )


def read_address(text: str) -> tuple[tuple[str, ...], int, str]:
    """Hosts, port and keyspace of `cassandra://HOST[:PORT],HOST/KEYSPACE`. Raises SettingUnusable."""
    if not text.startswith(SCHEME):
        raise SettingUnusable(f"--store does not begin with {SCHEME}. {_FORM}")
    places, slash, keyspace = text.removeprefix(SCHEME).partition("/")
    if "@" in text:
        raise SettingUnusable(
            "--store has a user or a password, which other users of this machine could read there. Give the user with"
            f" --store-user, and the password in the variable {PASSWORD_VARIABLE} or with --store-password-file."
        )
    if "?" in text or "#" in text:
        raise SettingUnusable(f"--store is {text}, and takes no parameters. {_FORM}")
    if not slash or not keyspace:
        raise SettingUnusable(f"--store is {text}, and names no keyspace. {_FORM}")
    if _is_keyspace(keyspace) is None:
        raise SettingUnusable(
            f"--store names the keyspace {keyspace}; a name has at most 48 small letters, digits and underscores,"
            " and begins with a letter."
        )
    hosts, ports = zip(*[_host_and_port(text, place) for place in places.split(",")], strict=True)
    if len(given := {port for port in ports if port is not None}) > 1:
        shown = " and ".join(map(str, sorted(given)))
        raise SettingUnusable(f"--store names the ports {shown}, but all nodes of a cluster listen on the same one.")
    if len(set(hosts)) < len(hosts):
        raise SettingUnusable(f"--store is {text}, and names a host twice. Name each node once; one or two are enough.")
    return hosts, given.pop() if given else USUAL_PORT, keyspace


def _host_and_port(text: str, place: str) -> tuple[str, int | None]:
    """Host and port of one node. Raises SettingUnusable."""
    match = _HOST_AND_PORT(place)
    host = "" if match is None else match[1] or match[2] or ""
    if match is None or _is_host(host) is None:
        reason = "a host is missing" if not place else f"{place} is no host"
        raise SettingUnusable(f"--store is {text}, in which {reason}. {_FORM}")
    port = match[3]
    if port is None:
        return host, None
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65_535):
        raise SettingUnusable(f"--store names the port {port or 'of no number'}; it must be a number from 1 to 65,535.")
    return host, int(port)


def _password(path: str | None, environment: Mapping[str, str]) -> str | None:
    """The password in a file or, without one, in the environment; None: there is none. Raises SettingUnusable."""
    if path is None:
        return environment.get(PASSWORD_VARIABLE) or None
    try:
        with open(path, encoding="utf-8") as file:
            password = file.read().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingUnusable(f"{path} cannot be read: {reason}. Mend --store-password-file.") from None
    if not password:
        raise SettingUnusable(f"{path} is empty. Mend --store-password-file: the file holds the password alone.")
    return password
