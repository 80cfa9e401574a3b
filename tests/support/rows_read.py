"""Which rows does a part of the store read from the engine?"""

from collections.abc import Generator
from types import ModuleType
from typing import Any

import pytest

from hashrange.store.embedded.reading import scan_range


def note_rows_read(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[bytes]:
    """A list to which the engine key of each row is added that `module` reads from now on by its `scan_range`."""
    keys: list[bytes] = []

    def noted(*arguments: Any, **options: Any) -> Generator[tuple[bytes, bytes]]:
        for engine_key, row in scan_range(*arguments, **options):
            keys.append(engine_key)
            yield engine_key, row

    monkeypatch.setattr(module, "scan_range", noted)
    return keys
