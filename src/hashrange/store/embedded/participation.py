"""Which participants take part in a commit, and may one refuse it? Those that chose its tables; each sees,
and may refuse, only changes of tables that it chose.
"""

from collections.abc import Sequence
from itertools import chain

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.open_tables import StoredTable
from hashrange.store.embedded.participant import Participant
from hashrange.store.interface import TransactionRefused
from hashrange.tables.change import Change

Participation = Sequence[tuple[Participant, Sequence[Change]]]


def participation(opened: Sequence[StoredTable], written: Sequence[Change]) -> Participation:
    """Each participant that chose a table of the transaction, in order, with the changes of tables that it chose.

    `opened`: the transaction's tables. A participant without changes is left out.
    """
    if not any(one.participants for one in opened):
        return ()
    participants = dict.fromkeys(chain.from_iterable([one.participants for one in opened]))
    chosen = {one.table_id: one.participants for one in opened}
    parts = [
        (participant, [change for change in written if participant in chosen[change.table.table_id]])
        for participant in sorted(participants, key=lambda participant: participant.place)
    ]
    return [(participant, changes) for participant, changes in parts if changes]


def require_willing(participant: Participant, draft: Draft, changes: Sequence[Change], *, is_transaction: bool) -> None:
    """Raise the participant's first refusal of `changes`, if any; for a transaction, TransactionRefused with all.

    Only for a participant with `may_refuse`. Also raises what `Participant.refusals` raises.
    """
    reasons = participant.refusals(draft, changes)
    if reasons is None:
        return
    assert len(reasons) == len(changes)
    if is_transaction:
        by_change = {id(change): reason for change, reason in zip(changes, reasons, strict=True)}
        raise TransactionRefused([by_change.get(id(change)) for change in draft.changes])
    raise next(reason for reason in reasons if reason is not None)
