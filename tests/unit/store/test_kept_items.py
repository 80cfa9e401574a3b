"""A planned transaction keeps the rows of large items, and of their decoded members only
those that participants need.
"""

from msgspec.structs import replace

from hashrange.items.row_layout import row_json
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Item, Key, Row
from hashrange.items.values import check_item
from hashrange.store.interface import TransactionStep
from hashrange.store.transaction_steps import plan_steps
from hashrange.tables.change import Change, Planned
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import TimeToLive
from tests.support.samples import table_maker

KEYS: Item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
EXPIRES: Item = {"expires": {"N": "1790000000"}}
TABLE = OpenTable(replace(table_maker("orders")(1), time_to_live=TimeToLive("expires", "ENABLED", 0.0)))


def row_of(item: Item) -> Row:
    return encode_row(*check_item(item))


def planned(old: Item, *, has_items: bool) -> Change:
    """The change of a plan that renews the item."""

    def plan(row: Row | None) -> Planned | Row | None:
        assert row is not None
        new = old | {"n": {"N": "1"}}
        return Planned(row_of(new), decode_row(row), new) if has_items else row_of(new)

    (change,) = plan_steps([TransactionStep(TABLE, Key(b"a"), plan)], [row_of(old)]).changes
    return change


def test_of_a_large_item_only_what_participants_ask_for_is_kept() -> None:
    large = KEYS | EXPIRES | {"l": {"L": [{"NULL": True}] * PIECE_BYTES}}
    packed = KEYS | EXPIRES | {"l": {"L": [{"N": "1E-130"}] * 1_500}}
    assert len(row_of(packed)) < PIECE_BYTES < len(row_json(row_of(packed)))
    for item in (large, packed):
        for has_items in (True, False):
            change = planned(item, has_items=has_items)
            assert change.old_item == change.new_item == KEYS | EXPIRES


def test_a_small_item_is_kept_as_it_is() -> None:
    small = KEYS | EXPIRES | {"l": {"L": [{"NULL": True}]}}
    change = planned(small, has_items=True)
    assert (change.old_item, change.new_item) == (small, small | {"n": {"N": "1"}})
    change = planned(small, has_items=False)
    assert (change.old_item, change.new_item) == (None, None)
