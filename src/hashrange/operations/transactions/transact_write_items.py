"""TransactWriteItems: up to 100 puts, updates, deletes and checks of distinct items, all or none.

Order of checks: per element, in the order of the request, exactly one action → parameters → values (nesting that is too
deep only after expressions that cannot be parsed) → item size → expressions; then the size of all puts → the length of
each put item's JSON → items named twice → all tables exist → a ClientRequestToken that was used before belongs to an
equal request. Faults that depend on a table's keys, or appear at run time, become cancellation reasons: of keys, of
index keys' types, of expressions that use key attributes, of conditions that are false, of updates that cannot be
applied to the item.
Three faults come before all reasons and refuse the whole request: empty values of keys or index keys, an update
statement that is too large although the new item is not, and items that are too large together and would be returned
in the reasons, or of which those of the first actions have more than 8 MB. Last, if nothing else refuses: the size of
all items and the bytes to store, then the sizes of item collections.

Our choices, unconfirmed: items named twice are reported before a missing table; faults of a Put's keys are
reasons, like faults of the other actions' keys; an item that a Delete removes counts towards the 4 MB; the size of an
item collection is that after all actions, and if it is too large, each action that adds to the collection has this
as its reason.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.items.canonical import encode_canonically
from hashrange.items.steps import walk
from hashrange.limits import TRANSACTION_ACTIONS_MAX, TRANSACTION_SIZE_MAX_BYTES
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.messages.requests import TOKEN_EMPTY, TOKEN_TOO_LONG, TRANSACTION_EMPTY, TRANSACTION_TOO_LONG
from hashrange.messages.transactions import SAME_ITEM_TWICE, TRANSACTION_TOO_LARGE
from hashrange.operations import shapes
from hashrange.operations.items.actions import Action
from hashrange.operations.items.write_item import metrics_by_table
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.transactions.actions import TransactWriteItem, actions_in, check_action, step_of
from hashrange.operations.transactions.commit import commit_steps, record_written_usage
from hashrange.operations.transactions.tokens import ContentDigest, begin_digest
from hashrange.store.interface import TransactionStep
from hashrange.wire.rules import ConstraintWording, RequestRules


class TransactWriteItemsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    ClientRequestToken: shapes.ClientRequestToken | None = None
    TransactItems: Annotated[list[TransactWriteItem], Meta(min_length=1, max_length=TRANSACTION_ACTIONS_MAX)]


async def transact_write_items(scope: Scope, request: TransactWriteItemsRequest, meter: Meter) -> Reply:
    """Commit all actions in one commit; the reply holds only ItemCollectionMetrics, if requested. 15 µs per action."""
    content = begin_digest(request)
    actions = _checked_actions(request.TransactItems, content)
    steps = _planned_steps(scope, actions)
    transacted = await commit_steps(scope, steps, request.ClientRequestToken, content, meter)
    record_written_usage(meter, transacted, steps, [action.table_name for action in actions])
    if request.ReturnItemCollectionMetrics != "SIZE" or transacted.report is not None:
        return {}
    pairs = list(zip(actions, transacted.changes, strict=True))
    given = {change.table.name: action.table_name for action, change in pairs}
    written = [(given[change.table.name], action, change) for action, change in pairs if action.kind != "check"]
    metrics = await metrics_by_table(scope, written)
    return {"ItemCollectionMetrics": metrics} if metrics else {}


def _checked_actions(elements: list[TransactWriteItem], content: ContentDigest | None) -> list[Action]:
    """Actions of the request, in its order, each checked by itself; the elements are added to the digest `content`.

    Raises the first fault of an element, then ValidationException for puts that are too large together.
    """
    actions = []
    put_bytes = 0
    for element in walk(elements):
        action = check_action(element)
        actions.append(action)
        if content is not None:
            content.add(element)
        put_bytes += action.size_bytes
    if put_bytes > TRANSACTION_SIZE_MAX_BYTES:
        raise ValidationException(TRANSACTION_TOO_LARGE)
    return actions


def _planned_steps(scope: Scope, actions: list[Action]) -> list[TransactionStep]:
    """Transaction steps of the actions.

    Raises Malformed for a table name that is too long or has invalid characters, and ApiError for a put item whose
    JSON exceeds ROW_MAX_BYTES, whichever comes first; then ApiError for items named twice, then for missing tables.
    """
    steps = []
    places: list[object] = []
    is_table_missing = False
    for action in actions:
        name = action.table_name
        table = find_active_table(scope, name)
        if table is None:
            is_table_missing = True
            if action.kind != "put":
                places.append((name, encode_canonically(action.item)))
            continue
        step = step_of(table, action)
        steps.append(step)
        if step.key is not None:
            places.append(table.source_id + step.key)
    if len(set(places)) < len(places):
        raise ValidationException(SAME_ITEM_TWICE)
    if is_table_missing:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    return steps


OPERATION = Operation(
    "TransactWriteItems",
    TransactWriteItemsRequest,
    transact_write_items,
    JsonWire(
        wording="older",
        rules=RequestRules(
            wordings={
                ("transactItems", "min_length"): ConstraintWording(TRANSACTION_EMPTY),
                ("transactItems", "max_length"): ConstraintWording(TRANSACTION_TOO_LONG),
                ("clientRequestToken", "min_length"): ConstraintWording(TOKEN_EMPTY, is_alone=True),
                ("clientRequestToken", "max_length"): ConstraintWording(TOKEN_TOO_LONG, is_alone=True),
            }
        ),
        element_type=TransactWriteItem,
    ),
    capacity="transaction",
    tables=lambda request: [action.TableName for one in request.TransactItems for action in actions_in(one)],
    writes=True,
)
