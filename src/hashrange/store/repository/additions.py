"""How is a copy added to a repository? Files that an earlier copy has, too, are used again; the others are read; then
the content is verified, and the manifest appears.

Whatever fails before that, a kill included, leaves the former copies as they are.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from hashrange import __version__
from hashrange.clock import SystemClock
from hashrange.store.copying import StoredFile
from hashrange.store.repository.folder import Manifests, RepositoryError, WrittenRepository, writing
from hashrange.store.repository.manifests import VERSION, CopiedFile, Manifest, next_name
from hashrange.store.repository.verification import content_faults

FAULTS_TOLD = 3


class CopiedStore(Protocol):
    """What is copied: the files of a store as of one moment."""

    place: str
    """Endpoint or data folder."""
    service_seconds: float
    """Service time of that moment."""
    store_format: int
    """Format version of the store."""
    files: Sequence[StoredFile]

    def pieces(self, file: StoredFile) -> Iterator[bytes]:
        """The content of a file. Raises HashrangeError."""


class Wishes(NamedTuple):
    """How a copy is made."""

    is_full: bool = False
    """Read every file, also those that earlier copies have."""
    is_checked: bool = True
    """Verify files that are used again by their digests, and the content as `hashrange check` does."""
    copies_max: int | None = None
    """How many copies are kept; None: all."""


class Addition(NamedTuple):
    """What came of a copy."""

    manifest: Manifest
    added_files: int
    """Files that the repository did not hold before."""
    mended: list[str]
    """Digests of files that were damaged, and have been written again."""
    removed: list[str]
    """Names of older copies that were removed."""
    removed_bytes: int
    """Length of the files that no copy has needed any more."""


class DraftedCopy(NamedTuple):
    """A copy whose files have been added, and which does not appear yet."""

    manifest: Manifest
    added_files: int
    mended: list[str]


TellProgress = Callable[[str, int, int], None]
"""Gets what is done (`copied` or `checked`), how much of it, and how much there is in all; 0: nobody knows."""


def add_files(
    repository: WrittenRepository, store: CopiedStore, wishes: Wishes, on_progress: TellProgress
) -> DraftedCopy:
    """Add the files of `store`, which is not needed afterwards. Raises RepositoryError, and what `store` raises."""
    repository.require_known(manifests := repository.manifests())
    repository.sweep()  # what a backup that was killed has left
    taken_at = SystemClock.wall_time()
    adding = _Adding(repository, manifests, store, wishes, on_progress)
    files = adding.add_files()
    name = next_name(taken_at, repository.names())
    manifest = Manifest(
        VERSION,
        name,
        taken_at,
        store.service_seconds,
        store.place,
        __version__,
        store.store_format,
        wishes.is_checked,
        adding.added_bytes,
        files,
    )
    return DraftedCopy(manifest, adding.added_files, adding.mended)


def add_copy(
    repository: WrittenRepository, drafted: DraftedCopy, wishes: Wishes, on_progress: TellProgress
) -> Addition:
    """Let a copy appear, and remove those that are not to be kept. Raises RepositoryError, such as when the content of
    the copy is damaged.
    """
    if wishes.is_checked:
        _require_sound(repository, drafted.manifest, on_progress)
    repository.add_manifest(drafted.manifest)
    removed = _outdated(repository.manifests(), wishes.copies_max)
    repository.remove_copies(removed)
    return Addition(*drafted, removed, repository.sweep())


class _Adding:
    """The files of one copy, while they are added."""

    def __init__(
        self,
        repository: WrittenRepository,
        manifests: Manifests,
        store: CopiedStore,
        wishes: Wishes,
        on_progress: TellProgress,
    ) -> None:
        self._repository = repository
        self._store = store
        self._wishes = wishes
        self._on_progress = on_progress
        self._known = {_likeness(one): one for copy in manifests.sound.values() for one in copy.files}
        self._all_bytes = sum(one.size_bytes for one in store.files)
        self._done_bytes = 0
        self.added_files = self.added_bytes = 0
        self.mended: list[str] = []

    def add_files(self) -> list[CopiedFile]:
        """Add all files; returns them as the manifest names them."""
        return [self._add(one) for one in self._store.files]

    def _add(self, file: StoredFile) -> CopiedFile:
        known = self._known.get((file.name, file.size_bytes, file.fingerprint)) if file.fingerprint else None
        if known is not None and not self._wishes.is_full and self._is_sound(known):
            return known
        copied, is_new = self._repository.add_file(file.name, self._counted(file), file.fingerprint)
        if known is not None and known.sha256 == copied.sha256 and not self._wishes.is_full:
            self.mended.append(known.sha256)
        if is_new:
            self.added_files += 1
            self.added_bytes += copied.bytes
        return copied

    def _is_sound(self, known: CopiedFile) -> bool:
        before_bytes = self._done_bytes
        is_sound = self._repository.has_file(known)
        if is_sound and self._wishes.is_checked:
            is_sound = self._repository.fault_of(known, self._count) is None
        self._done_bytes = before_bytes
        if is_sound:
            self._count(known.bytes)
        return is_sound

    def _counted(self, file: StoredFile) -> Iterator[bytes]:
        size_bytes = 0
        for piece in self._store.pieces(file):
            size_bytes += len(piece)
            self._count(len(piece))
            yield piece
        if size_bytes != file.size_bytes:
            raise RepositoryError(
                f"{self._store.place} gave {size_bytes:,} bytes of {file.name}, which has {file.size_bytes:,}."
                " Nothing was kept; try again."
            )

    def _count(self, piece_bytes: int) -> None:
        self._done_bytes += piece_bytes
        self._on_progress("copied", self._done_bytes, self._all_bytes)


def _likeness(file: CopiedFile) -> tuple[str, int, str]:
    """By what a file of a store is known to be one that has been copied."""
    return file.name, file.bytes, file.fingerprint


def _require_sound(repository: WrittenRepository, manifest: Manifest, on_progress: TellProgress) -> None:
    """Raise RepositoryError unless the content of a copy is sound."""
    data_dir, place = repository.content_folder, manifest.copied_from
    with writing(repository.path):
        repository.link_files(manifest.files, data_dir)
    faults = content_faults(data_dir, manifest.service_time, place, on_progress)
    if faults:
        told = "; ".join(faults[:FAULTS_TOLD])
        raise RepositoryError(
            f"{place} is damaged, and no copy of it was kept: {told}."
            " To copy it as it is, leave out the check with --no-check."
        )


def _outdated(manifests: Manifests, copies_max: int | None) -> list[str]:
    """Names of the copies beyond the newest `copies_max`; none while a manifest is damaged, so that nothing is removed
    that may be the last sound copy.
    """
    if copies_max is None or manifests.damaged:
        return []
    return list(manifests.sound)[:-copies_max]
