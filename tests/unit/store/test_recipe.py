"""The recipe of ADR 0024 for a new participant, followed literally: one file and one line."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hashrange.items.types import Key
from hashrange.store.embedded import open_store, participants
from hashrange.store.interface import TransactionStep
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker

RECIPE = Path(__file__).resolve().parents[3] / "docs" / "adr" / "0024-one-commit.md"
NAME = "hashrange.store.embedded.write_counts"


@pytest.fixture
def added(tmp_path: Path) -> Iterator[tuple[ModuleType, Any]]:
    """The recipe's file as a module, and the list of participants with its line added."""
    (code,) = re.findall(r"```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "write_counts.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    try:
        spec.loader.exec_module(module)
        source = Path(participants.__file__).read_text(encoding="utf-8")
        source = source.replace(
            "from hashrange.store.embedded.participant import",
            f"from {NAME} import WriteCounts\nfrom hashrange.store.embedded.participant import",
        ).replace("    StagedRows,\n)", "    StagedRows,\n    WriteCounts,\n)")
        changed: dict[str, Any] = {}
        exec(compile(source, "participants.py", "exec"), changed)
        assert changed["PARTICIPANTS"][-1] is module.WriteCounts
        yield module, changed["PARTICIPANTS"]
    finally:
        del sys.modules[NAME]


def test_the_recipe(added: tuple[ModuleType, Any], tmp_path: Path) -> None:
    module, makers = added
    folder = str(tmp_path / "data")
    store = open_store(folder, VirtualClock(), None, participants=makers)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    finish(store.mutate(table, Key(b"a"), lambda _: row_of(1)))
    finish(store.mutate(table, Key(b"a"), lambda _: row_of(1)))
    finish(store.transact([TransactionStep(table, Key(key), lambda _: row_of(2)) for key in (b"a", b"b")], None))
    store.close_now()
    store = open_store(folder, VirtualClock(), None, participants=makers)
    assert store.engine.get(module.row_key(table.table_id)) == (3).to_bytes(8, "big")
    assert finish(store.catalog.delete(table.schema))
    assert store.engine.get(module.row_key(table.table_id)) is None
    store.close_now()
