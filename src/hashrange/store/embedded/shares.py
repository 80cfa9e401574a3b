"""Which changes of a commit does each participant follow, and does it refuse them?"""

from collections.abc import Mapping, Sequence
from itertools import chain

from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.open_tables import StoredTable
from hashrange.store.embedded.participant import Participant
from hashrange.store.interface import TransactionRefused
from hashrange.tables.change import Change

Shares = Mapping[Participant, Sequence[Change]]
"""Participant → the changes of a transaction that it follows: those of tables that it chose."""


def shares_of_transaction(opened: Sequence[StoredTable], written: Sequence[Change]) -> Shares:
    """The share of each participant that chose a table of the transaction, in the order of participants.

    `opened`: the transaction's tables, each once. A participant without changes is left out.
    """
    participants = dict.fromkeys(chain.from_iterable([one.participants for one in opened]))
    chosen = {one.table_id: one.participants for one in opened}
    shares = {
        participant: [change for change in written if participant in chosen[change.table.table_id]]
        for participant in sorted(participants, key=lambda participant: participant.place)
    }
    return {participant: changes for participant, changes in shares.items() if changes}


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
