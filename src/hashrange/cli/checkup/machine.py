"""Can a server start here? Looks at Python, the engine, the settings and the data folder. Changes nothing on disk."""

import errno
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from hashrange import __version__
from hashrange.cli.checkup.finding import Finding, failing, fine, surprising
from hashrange.cli.parsing import UsageError
from hashrange.cli.settings_sources import load_settings
from hashrange.errors import StorageError, StorageLocked
from hashrange.settings import Settings

FREE_BYTES_MIN = 1_000_000_000
"""Less room than this on the disk of the data folder is a hint."""


def look_at_installation() -> Iterator[Finding]:
    """Version, Python, storage engine."""
    yield fine("version", f"Hashrange {__version__}, Python {platform.python_version()}, {sys.platform}.")
    try:
        import rocksdict  # noqa: F401 - only whether it can be loaded
    except ImportError as error:
        yield failing("engine", f"The storage engine rocksdict cannot be loaded ({error}). Install hashrange again.")
    else:
        yield fine("engine", "The storage engine is installed.")


def look_at_settings(environment: Mapping[str, str]) -> tuple[Settings, Mapping[str, str], list[Finding]]:
    """The settings that `hashrange serve` would have, the names that gave them, and what is wrong with them."""
    try:
        settings, warnings, given_names = load_settings({}, environment)
    except UsageError as error:
        return Settings(), {}, [failing("settings", f"`hashrange serve` would refuse to start: {error}")]
    findings = [surprising("settings", f"{warning[0].upper()}{warning[1:]}") for warning in warnings]
    return (
        settings,
        given_names,
        findings or [fine("settings", "All variables HASHRANGE_… are known, and have usable values.")],
    )


def look_at_data_folder(settings: Settings) -> Iterator[Finding]:
    """Whether the data folder can be used, by whom it is, and how much room there is."""
    if settings.data_dir is None:
        yield fine("data", "The data is in memory, and is gone when the server stops.")
        return
    try:
        yield from _state_of(Path(settings.data_dir))
    except OSError as error:
        yield failing(
            "data", f"{settings.data_dir} cannot be looked at: {error.strerror}. Name another folder with --data-dir."
        )


def _state_of(folder: Path) -> Iterator[Finding]:
    existing = next((one for one in (folder, *folder.absolute().parents) if one.is_symlink() or one.exists()), folder)
    if not existing.is_dir():
        yield failing(
            "data", f"{existing} is no folder, so {folder} cannot hold data. Name another one with --data-dir."
        )
        return
    if not os.access(existing, os.W_OK | os.X_OK):
        yield failing("data", f"{existing} cannot be written by this user. Name another folder with --data-dir.")
        return
    if existing != folder:
        yield fine("data", f"{folder} does not exist yet; the first start makes it.")
    else:
        yield _use_of(folder)
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < FREE_BYTES_MIN:
        yield surprising("disk", f"The disk of {existing} has only {free_bytes / 1e6:,.0f} MB left.")


def _use_of(folder: Path) -> Finding:
    from hashrange.store.embedded.files import LOCK_FILE, refuse_foreign
    from hashrange.store.embedded.identity import FolderLock

    try:
        refuse_foreign(folder)
    except StorageError as error:
        return failing("data", str(error))
    if not (folder / LOCK_FILE).exists():
        return fine("data", f"{folder} is a folder without data of Hashrange.")
    lock = FolderLock(str(folder), is_signed=False)
    try:
        lock.take_file(os.O_RDWR)
    except StorageLocked as error:
        return surprising("data", f"{error} If it is the server that you use, nothing is wrong.")
    except (OSError, StorageError) as error:
        return failing("data", f"{folder} cannot be opened: {error}.")
    lock.release()
    return fine("data", f"{folder} has data, and no server uses it now.")


def look_at_port(settings: Settings, *, is_called_by_clients: bool) -> Iterator[Finding]:
    """Whether a server can listen at its port now. Binds the port, does not listen, and lets it go."""
    if settings.port == 0:
        return
    try:
        with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as trying:
            if os.name == "posix":  # Windows lets two programs bind one port with this option
                trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trying.bind((settings.host, settings.port))
    except OSError as error:  # a machine without IPv6 has no such sockets
        yield _unbound(settings, error, is_called_by_clients)
    else:
        yield fine("port", f"Port {settings.port} is free at {settings.host}.")


def _unbound(settings: Settings, error: OSError, is_called_by_clients: bool) -> Finding:
    place = f"{settings.host}, port {settings.port}"
    if error.errno != errno.EADDRINUSE:
        return failing(
            "port",
            f"No server can listen at {place}: {error.strerror}. Name another place with --host and --port.",
        )
    if is_called_by_clients:
        return fine("port", f"A program listens at {place}, where clients call; below is what it is.")
    return surprising(
        "port",
        f"A program listens at {place}, so `hashrange serve` does not start there; clients call elsewhere."
        " End it, or name another --port.",
    )
