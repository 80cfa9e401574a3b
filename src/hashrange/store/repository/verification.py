"""Is what a repository holds sound? Of a repository, every manifest is read, and every file once, whose digest must be
that of its name. The content of a copy is verified as a data folder is, whose files are those of the copy.
"""

from collections.abc import Callable
from typing import NamedTuple

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.errors import HashrangeError
from hashrange.store.embedded.check import check_store
from hashrange.store.repository.folder import Repository
from hashrange.store.repository.manifests import CopiedFile


class RepositoryReport(NamedTuple):
    """The result of a check; a sound repository has an empty list of faults."""

    copy_count: int
    file_count: int
    size_bytes: int
    """Length of the files, each counted once."""
    faults: list[str]


def check_repository(path: str, on_progress: Callable[[int], None] = lambda _: None) -> RepositoryReport:
    """Verify all copies of a repository. `on_progress` gets the number of bytes that have been read.

    A backup may run meanwhile: what belonged to a copy that it has removed is no fault. Raises RepositoryUnfit and
    RepositoryError.
    """
    repository = Repository(path)
    manifests = repository.manifests()
    faults = [f"manifests/{name}.json: {error}; the copy {name} needs it" for name, error in manifests.damaged.items()]
    files: dict[str, CopiedFile] = {}
    for manifest in manifests.sound.values():
        files |= {one.sha256: one for one in manifest.files}
    needed, read_bytes = manifests.needed(), 0

    def count(piece_bytes: int) -> None:
        nonlocal read_bytes
        read_bytes += piece_bytes
        on_progress(read_bytes)

    for digest, file in files.items():
        fault = repository.fault_of(file, count)
        if fault is not None:
            present = set(repository.names())
            names = [name for name in needed[digest] if name in present]
            if names:
                faults.append(f"files/{digest} {fault}; {_needing(names, file.name)}")
    size_bytes = sum(one.bytes for one in files.values())
    return RepositoryReport(len(manifests.sound) + len(manifests.damaged), len(files), size_bytes, faults)


def _needing(names: list[str], file: str) -> str:
    if len(names) == 1:
        return f"the copy {names[0]} needs it as {file}"
    return f"the copies {', '.join(names)} need it as {file}"


def content_faults(
    data_dir: str, service_seconds: float, place: str, on_progress: Callable[[str, int, int], None]
) -> list[str]:
    """What is wrong with the data folder of a copy whose service time was `service_seconds`; empty: it is sound.

    `place` stands in the sentences for `data_dir`, which exists for the check alone.
    """
    clock = MovableClock(SystemClock(), ServiceTimeState(frozen_seconds=service_seconds))
    try:
        report = check_store(data_dir, lambda rows: on_progress("checked", rows, 0), clock)
    except HashrangeError as error:
        return [str(error).replace(data_dir, place).removesuffix(".")]
    return [fault.replace(data_dir, place) for fault in report.faults]
