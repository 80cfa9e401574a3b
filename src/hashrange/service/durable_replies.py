"""Which replies need not wait until the last commit is durable?
Those that could not tell of a commit that a power cut would undo.
"""

from hashrange.service.call import Call
from hashrange.store.interface import Durability


def is_durable(call: Call, store: Durability, durable_position: int) -> bool:
    """True if the reply need not wait: of an eventually consistent read, or of another read of tables whose commits
    are all durable. So large writes to other tables do not delay the reply.
    """
    operation, tables = call.operation, call.scope.tables
    if operation.is_eventual is None:
        return False
    if operation.is_eventual(call.request):
        return True
    if operation.writes:
        return False
    named = [tables.get(name) for name in operation.tables(call.request)]
    return bool(named) and all(table is not None and store.position_of(table) <= durable_position for table in named)
