"""Can a server start here? Looks at Python, the engine, the settings and the data folder. Changes nothing on disk."""

import os
import platform
import shutil
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


def look_at_settings(environment: Mapping[str, str]) -> tuple[Settings, list[Finding]]:
    """The settings that `hashrange serve` would have, and what is wrong with them."""
    try:
        settings, warnings = load_settings({}, environment)
    except UsageError as error:
        return Settings(), [failing("settings", f"`hashrange serve` would refuse to start: {error}")]
    findings = [surprising("settings", f"{warning[0].upper()}{warning[1:]}") for warning in warnings]
    return settings, findings or [fine("settings", "All variables HASHRANGE_… are known, and have usable values.")]


def look_at_data_folder(settings: Settings) -> Iterator[Finding]:
    """Whether the data folder can be used, by whom it is, and how much room there is."""
    if settings.data_dir is None:
        yield fine("data", "The data is in memory, and is gone when the server stops.")
        return
    folder = Path(settings.data_dir)
    existing = next((one for one in (folder, *folder.absolute().parents) if one.exists()), folder)
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
    from hashrange.store.embedded.files import LOCK_FILE
    from hashrange.store.embedded.identity import FolderLock

    if not (folder / LOCK_FILE).exists():
        return fine("data", f"{folder} is a folder without data of Hashrange.")
    lock = FolderLock(str(folder), is_signed=False)
    try:
        lock.take_file(os.O_RDWR)
    except StorageLocked as error:
        return surprising("data", f"{error} It is right if that is the server that you use.")
    except (OSError, StorageError) as error:
        return failing("data", f"{folder} cannot be opened: {error}.")
    lock.release()
    return fine("data", f"{folder} has data, and no server uses it now.")
