"""How does a copy become a data folder again? Its files are written beside, verified, and take their place by one
renaming.

The folder may exist, such as the root of a mounted volume, but must be empty. A restore that was killed leaves the
folder `restoring` in it, which a server refuses, and the next restore removes.
"""

import contextlib
import os
from collections.abc import Iterator

from hashrange.errors import StorageError
from hashrange.settings import SettingUnusable
from hashrange.store.embedded import files
from hashrange.store.embedded.engine_errors import undone_on_failure
from hashrange.store.embedded.identity import FolderLock
from hashrange.store.embedded.layout import FORMAT_VERSION
from hashrange.store.embedded.modes import PRIVATE_FOLDER
from hashrange.store.repository.additions import FAULTS_TOLD, TellProgress
from hashrange.store.repository.folder import (
    FileDamaged,
    Manifests,
    Repository,
    RepositoryError,
    RepositoryUnfit,
    write_private_file,
    writing,
)
from hashrange.store.repository.manifests import CopiedFile, Manifest, ManifestNewer
from hashrange.store.repository.verification import content_faults

RESTORING_FOLDER = "restoring"


class NotEmpty(StorageError, SettingUnusable):
    """A copy is to be restored into a folder that holds something."""


def find_copy(repository: Repository, name: str | None) -> Manifest:
    """The manifest of the copy of this name; None: of the newest copy. Raises RepositoryUnfit, RepositoryError."""
    manifests = repository.manifests()
    wanted = manifests.newest() if name is None else name
    if wanted is None:
        raise RepositoryUnfit(f"{repository.path} holds no copy yet.")
    if wanted in manifests.sound:
        return manifests.sound[wanted]
    others = _others(manifests, wanted)
    error = manifests.damaged.get(wanted)
    if error is None:
        raise RepositoryUnfit(f"{repository.path} has no copy {wanted}.{others}")
    if isinstance(error, ManifestNewer):
        raise RepositoryError(f"the copy {wanted} was made by a newer Hashrange: {error}. Update this one.{others}")
    raise RepositoryError(f"the manifest of the copy {wanted} is damaged: {error}.{others}")


def _others(manifests: Manifests, wanted: str) -> str:
    names = [name for name in manifests.sound if name != wanted]
    return f" Other copies: {', '.join(names)}." if names else ""


def restore_copy(
    repository: Repository, manifest: Manifest, data_dir: str, on_progress: TellProgress, *, is_checked: bool
) -> None:
    """Write a copy to a data folder that is missing or empty. `is_checked`: verify the content, too, not only digests.

    Raises NotEmpty, RepositoryError or another StorageError; the folder is then as it was.
    """
    if manifest.store_format > FORMAT_VERSION:
        raise RepositoryError(
            f"the copy {manifest.name} is of a newer Hashrange: its format is {manifest.store_format}, and this"
            f" one reads up to {FORMAT_VERSION}. Update this one."
        )
    with writing(data_dir):
        is_new = not os.path.lexists(data_dir)
        _make_folder(data_dir)
        lock = FolderLock(data_dir, is_signed=True)
        lock.take_file(os.O_RDWR | os.O_CREAT)
    draft = os.path.join(data_dir, RESTORING_FOLDER)
    try:
        with undone_on_failure(lambda: _undo(data_dir, is_new=is_new)):
            with writing(data_dir):
                _require_empty(data_dir)
                _clear(data_dir)
                os.makedirs(files.engine_folder(draft), PRIVATE_FOLDER)
                _write_files(repository, manifest, draft, on_progress)
            if is_checked:
                _require_sound_content(manifest, draft, data_dir, on_progress)
            with writing(data_dir):
                _put_in_place(manifest, draft, data_dir)
    finally:
        lock.release()


def _make_folder(data_dir: str) -> None:
    try:
        os.makedirs(data_dir, PRIVATE_FOLDER, exist_ok=True)
        files.sync_folder(os.path.dirname(os.path.abspath(data_dir)))
    except (FileExistsError, NotADirectoryError):
        raise NotEmpty(f"{data_dir} is not a folder. Name another one.") from None
    _require_empty(data_dir)


def _require_empty(data_dir: str) -> None:
    """Raise NotEmpty if a folder holds more than what a killed restore, a lock or a new file system leave in it."""
    names = set(os.listdir(data_dir))
    is_left = files.ENGINE_FOLDER not in names and _is_draft(os.path.join(data_dir, RESTORING_FOLDER))
    allowed = {files.LOCK_FILE, "lost+found", *((RESTORING_FOLDER, files.SYNCED_FILE) if is_left else ())}
    strangers = names - allowed
    if strangers:
        raise NotEmpty(f"{data_dir} is not empty ({min(strangers)}, …). Name an empty or a new folder.")


def _is_draft(path: str) -> bool:
    """True for a folder that a restore has made."""
    return os.path.isdir(path) and set(os.listdir(path)) <= {files.ENGINE_FOLDER, files.SYNCED_FILE}


def _clear(data_dir: str) -> None:
    """Remove what a restore has left unfinished. Ignores errors."""
    draft = os.path.join(data_dir, RESTORING_FOLDER)
    if os.path.isdir(draft) and not os.path.exists(files.engine_folder(data_dir)):
        files.remove_file(files.synced_file(data_dir))
    files.remove_folder(draft)


def _undo(data_dir: str, *, is_new: bool) -> None:
    """Leave a folder as it was before a restore, except for an empty lock file in one that existed. Ignores errors."""
    if os.path.exists(files.engine_folder(data_dir)):
        return  # another restore has been quicker
    _clear(data_dir)
    if is_new:
        files.remove_file(os.path.join(data_dir, files.LOCK_FILE))
        with contextlib.suppress(OSError):
            os.rmdir(data_dir)


def _write_files(repository: Repository, manifest: Manifest, draft: str, on_progress: TellProgress) -> None:
    done_bytes, all_bytes = 0, manifest.size_bytes
    for file in manifest.files:
        write_private_file(os.path.join(draft, file.name), _named_pieces(repository, manifest, file))
        done_bytes += file.bytes
        on_progress("restored", done_bytes, all_bytes)
    files.sync_folder(files.engine_folder(draft))


def _named_pieces(repository: Repository, manifest: Manifest, file: CopiedFile) -> Iterator[bytes]:
    """The content of a file. Raises RepositoryError, which names file and copy."""
    try:
        yield from repository.pieces(file)
    except FileDamaged as error:
        raise RepositoryError(
            f"{repository.file_path(file.sha256)} {error}, so the copy {manifest.name} cannot be restored."
            f" `hashrange check {repository.path}` tells which copies are sound."
        ) from error


def _require_sound_content(manifest: Manifest, draft: str, data_dir: str, on_progress: TellProgress) -> None:
    faults = content_faults(draft, manifest.service_time, data_dir, on_progress)
    if faults:
        raise RepositoryError(
            f"the content of the copy {manifest.name} is damaged, and nothing was restored:"
            f" {'; '.join(faults[:FAULTS_TOLD])}. To restore it as it is, leave out the check with --no-check."
        )


def _put_in_place(manifest: Manifest, draft: str, data_dir: str) -> None:
    """Let the files of a copy appear in a data folder. The last renaming decides."""
    for file in manifest.files:
        if not file.name.startswith(f"{files.ENGINE_FOLDER}/"):
            os.rename(os.path.join(draft, file.name), os.path.join(data_dir, file.name))
    files.sync_folder(data_dir)
    drafted, engine = files.engine_folder(draft), files.engine_folder(data_dir)
    os.rename(drafted, engine)
    with undone_on_failure(lambda: os.rename(engine, drafted)):
        files.sync_folder(data_dir)
    files.remove_folder(draft)
