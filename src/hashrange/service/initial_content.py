"""With which content does a service begin, or begin anew? With that of its init folder,
if the settings name one, all of it or nothing.

The folder is applied to a copy of the content, which then takes the place of the content.
So a file that cannot be applied and a server that is killed meanwhile change nothing, and requests never see half
of it. See docs/adr/0052-init-folder.md.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.service.drive import in_turns
from hashrange.service.service import Service
from hashrange.service.snapshots import ServiceSnapshot, handed_over, initial_time, return_in_turns
from hashrange.service.store_opening import open_copy_of
from hashrange.settings import Settings
from hashrange.store.copying import Checkpoint, copying_of
from hashrange.store.interface import WholeStore

if TYPE_CHECKING:
    from hashrange.init.applying import InGo
    from hashrange.init.files import InitFile

_log = logging.getLogger("hashrange.init")


async def begin_with_folder(store: WholeStore, clock: Clock, settings: Settings) -> None:
    """Apply the files of the settings' init folder that this store has not applied, all or nothing.

    Raises SettingUnusable, which names the file and the place in it, and StorageError.
    """
    # Imported here: most servers have no init folder, and start time counts.
    from hashrange.init.files import list_init_files, unapplied_files  # noqa: PLC0415

    assert settings.init is not None
    files = await unapplied_files(list_init_files(settings.init), store.documents)
    if not files:
        return
    from hashrange.init.applying import counted  # noqa: PLC0415 - nothing is applied at most starts

    base = await copying_of(store).checkpoint()
    with handed_over(base):
        applied, counts = await _applied_to(base, files, clock, settings, _in_task)
    with handed_over(applied):
        copying_of(store).restore(applied)
    counted_things = ((len(files), "file"), (counts["tables"], "new table"), (counts["items"], "item"))
    _log.info("%s: %s applied, with %s and %s", settings.init, *[counted(*thing) for thing in counted_things])


async def reset_service(service: Service) -> None:
    """Replace all content by that of the init folder, or by nothing if the settings name none; see `return_to`.

    Requests find the former content until then. Raises SettingUnusable if the folder cannot be applied,
    and StorageError; nothing is changed then.
    """
    folder, content = service.settings.init, None
    if folder is not None:
        # In a task of its own: the operations run in workers, piece by piece, and this must not be part of one.
        content = await asyncio.get_running_loop().create_task(_initial_content(service, folder))
    if content is None:
        await return_in_turns(service, None)
        return
    with handed_over(content.checkpoint):
        await return_in_turns(service, content)


async def _initial_content(service: Service, folder: str) -> ServiceSnapshot | None:
    """What a new store has once the folder has been applied to it; None: nothing, because the folder is empty."""
    # Imported here: most servers have no init folder, and start time counts.
    from hashrange.init.files import list_init_files  # noqa: PLC0415

    files = list_init_files(folder)
    if not files:
        return None
    time_state = initial_time(service.settings)
    clock = MovableClock(SystemClock(), time_state)
    nothing = copying_of(service.store).checkpoint_of(())
    in_workers = partial(in_turns, workers=service.workers)
    with handed_over(nothing):
        checkpoint, _ = await _applied_to(nothing, files, clock, service.settings, in_workers)
    return ServiceSnapshot(checkpoint, time_state, clock.service_time())


async def _applied_to(
    base: Checkpoint, files: list["InitFile"], clock: Clock, settings: Settings, in_go: "InGo"
) -> tuple[Checkpoint, Mapping[str, int]]:
    """The content of `base` with these files applied to it, and how many tables were made and items put."""
    # Imported here: most servers have no init folder, and start time counts.
    from hashrange.init.applying import FolderApplication  # noqa: PLC0415

    copy = await open_copy_of(settings, clock, base)
    try:
        application = FolderApplication(copy, clock, settings, in_go)
        await application.apply(files)
        return await copying_of(copy).checkpoint(), application.counts
    finally:
        await copy.close()


async def _in_task(work: Coroutine[Any, Any, Any]) -> Any:
    """Do a piece of work before there are requests; a signal that ends the server has its turn behind it."""
    result = await work
    await asyncio.sleep(0)
    return result
