"""Can a server start here? Looks at Python, the engine, the settings, the files that these name and their modes,
the data folder and the port. Changes nothing on disk.
"""

import errno
import os
import platform
import shlex
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from hashrange import __version__
from hashrange.cli.checkup.finding import Finding, failing, fine, surprising
from hashrange.cli.parsing import UsageError
from hashrange.cli.settings_sources import in_given_names, load_settings
from hashrange.errors import HashrangeError, StorageError, StorageLocked
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
    if not findings:
        findings.append(fine("settings", "All variables HASHRANGE_… are known, and have usable values."))
    return settings, given_names, findings


def look_at_named_files(settings: Settings, given_names: Mapping[str, str]) -> Iterator[Finding]:
    """What a server with these settings would say of each file, folder and URL that they name, and refuse to start;
    nothing if they name none. Asks the readers of the server itself.

    Of an init folder only the names are looked at, and a snapshot is not read: both may be long.
    """
    is_asked, is_sound = False, True
    for look in _looks(settings):
        is_asked = True
        try:
            look()
        except HashrangeError as error:
            is_sound = False
            sentence = in_given_names(str(error), given_names)
            yield failing("files", f"`hashrange serve` would refuse to start: {sentence}")
    if is_asked and is_sound:
        yield fine("files", "The files, folders and URLs that the settings name can be used.")


def _looks(settings: Settings) -> Iterator[Callable[[], object]]:
    # Imported here: the readers load much, and most settings name nothing.
    if settings.credentials is not None or settings.tls_cert is not None:
        from hashrange.server.listener import read_secrets

        yield partial(read_secrets, settings)
    if settings.init is not None:
        from hashrange.init.files import list_init_files

        yield partial(list_init_files, settings.init)
    if settings.faults is not None:
        from hashrange.faults.fault import read_faults

        yield partial(read_faults, settings.faults)
    if settings.triggers is not None:
        from hashrange.triggers.configuration import read_configuration

        yield partial(read_configuration, settings.triggers)
    from hashrange.functions.http_client import read_setting

    urls = {
        "--others": settings.others,
        "--sns-endpoint": settings.sns_endpoint,
        "--kinesis-endpoint": settings.kinesis_endpoint,
    }
    for flag, url in urls.items():
        if url is not None:
            yield partial(read_setting, flag, url)


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


# --- rights of other users ------------------------------------------------------------------------

OTHERS = 0o077
"""The rights of all users but the owner, in the mode of a file."""


def look_at_modes(settings: Settings) -> Iterator[Finding]:
    """A hint, with the command that mends it, for each folder or file that others have rights to; none on Windows."""
    if os.name == "nt":
        return
    named = {
        "data folder": settings.data_dir,
        "snapshot": settings.snapshot,
        "credentials file": settings.credentials,
        "TLS key": settings.tls_key,
    }
    for what, path in named.items():
        if path is None:
            continue
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            continue  # what is missing or unusable is reported elsewhere
        if mode & OTHERS:
            whole = "-R " if stat.S_ISDIR(mode) else ""
            yield surprising(
                "modes",
                f"Other users of this machine have rights to the {what} {path} (mode {stat.S_IMODE(mode):04o})."
                f" Take them away: chmod {whole}go= {shlex.quote(path)}",
            )
