"""Which snapshots does a server keep for clients of its admin API?
Those that they have taken and not released, by number.
"""

from hashrange.service.snapshots import ServiceSnapshot

SNAPSHOTS_MAX = 1000


class KeptSnapshots:
    """Snapshots of one server's database, until they are released or the server stops."""

    def __init__(self) -> None:
        self._kept: dict[str, ServiceSnapshot] = {}
        self._taken = 0

    @property
    def numbers(self) -> list[str]:
        """Numbers of the snapshots, in the order in which they were taken."""
        return list(self._kept)

    @property
    def is_full(self) -> bool:
        """True if SNAPSHOTS_MAX snapshots are kept."""
        return len(self._kept) >= SNAPSHOTS_MAX

    def keep(self, snapshot: ServiceSnapshot) -> str:
        """Keep a snapshot; returns its number, which no other snapshot of this server gets."""
        self._taken += 1
        number = str(self._taken)
        self._kept[number] = snapshot
        return number

    def find(self, number: str) -> ServiceSnapshot | None:
        """The snapshot of this number; None if there is none, or it has been released."""
        return self._kept.get(number)

    def release(self, number: str) -> bool:
        """Release a snapshot, which frees its files; False if there is none of this number."""
        snapshot = self._kept.pop(number, None)
        if snapshot is not None:
            snapshot.checkpoint.release()
        return snapshot is not None

    def release_all(self) -> None:
        """Release every snapshot."""
        for number in self.numbers:
            self.release(number)
