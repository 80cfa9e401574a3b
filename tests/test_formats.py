"""Does docs/formats name every kind of document that a feature keeps, and each member of its records?"""

import ast
import re
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

from hashrange.autoscaling.records import Activity, ScalableTarget, ScalingPolicy, ScheduledAction
from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.alarms.history import History
from hashrange.dax.records import Cluster, Event, ParameterGroup, SubnetGroup
from hashrange.functions.description import FunctionDescription
from hashrange.functions.events import QueuedEvent
from hashrange.operations.backups.kept_backups import Backup, Restore
from hashrange.operations.transfers.bulk_records import BulkProgress, BulkRecord
from hashrange.operations.transfers.export_records import ExportProgress, ExportRecord
from hashrange.operations.transfers.import_records import ImportProgress, ImportRecord
from hashrange.service.features import FEATURES
from hashrange.tables.schema import Table
from tests.support.source_trees import ROOT, source_trees

PAGES = ROOT / "docs" / "formats"
RECORDS = {
    "backups.md": (Backup, Restore),
    "alarms.md": (Alarm, History),
    "scaling.md": (ScalableTarget, ScalingPolicy, ScheduledAction, Activity),
    "functions.md": (FunctionDescription, QueuedEvent),
    "transfers.md": (ExportRecord, ExportProgress, ImportRecord, ImportProgress, BulkRecord, BulkProgress),
    "dax.md": (Cluster, ParameterGroup, SubnetGroup, Event),
}
"""Page → the records that it describes member by member."""


def prefixes() -> Iterator[str]:
    """How the names of documents begin: texts such as `alarm/` that are called a prefix."""
    for tree in source_trees().values():
        for node in tree.body:
            match node:
                case ast.Assign(targets=[target], value=value):
                    names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]
                    texts = [str(one.value) for one in ast.walk(value) if isinstance(one, ast.Constant)]
                    if all(name.endswith("PREFIX") for name in names):
                        yield from (text for text in texts if re.fullmatch("[a-z-]+/", text))


def test_every_kind_of_document_is_described() -> None:
    described = {
        name
        for page in PAGES.glob("*.md")
        for name in re.findall(r"^\| `([a-z-]+/)\{", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert described == {*prefixes(), *(prefix for feature in FEATURES for prefix in feature.prefixes)}


def structs_of(kind: object) -> Iterator[type[msgspec.Struct]]:
    """A struct, and those in its members; those of a type such as `list[Event]`. The description of a table is left
    out: docs/formats/store.md says that it is stored as it is declared.
    """
    if kind is not Table and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from structs_of(field.type)
    for part in get_args(kind):
        yield from structs_of(part)


@pytest.mark.parametrize("page", RECORDS)
def test_every_member_of_a_record_is_described(page: str) -> None:
    named = set(re.findall(r"`(\w+)`", (PAGES / page).read_text(encoding="utf-8")))
    members = {
        f"{struct.__name__}.{name}": name
        for record in RECORDS[page]
        for struct in structs_of(record)
        for name in struct.__struct_encode_fields__
    }
    assert not {member for member, name in members.items() if name not in named}
