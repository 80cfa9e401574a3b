"""What does the access log tell of a request that reached its operation? The tables that it names, and the units that it used.

Calls are of this kind only where a log is wanted, so that nothing is asked for where it is not. Must not know how a line looks otherwise
(`server/access_log.py`).
"""

import re
from functools import partial

from hashrange.errors import ApiError
from hashrange.limits import TABLE_NAME_LENGTH_MAX
from hashrange.operations.meter import Meter
from hashrange.operations.naming import bare_name
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.server.protocols.dynamodb_json.call import JsonCall, fail

_is_name = re.compile(f"{NAME_PATTERN.removesuffix('+')}{{1,{TABLE_NAME_LENGTH_MAX}}}").fullmatch


class LoggedCall(JsonCall):
    """A call that knows what it used."""

    used: str = ""

    def done(self, reply: Reply | None) -> None:
        """Before the request is let go."""
        self.used = used_by(self)
        JsonCall.done(self, reply)

    def refuse(self, error: ApiError) -> None:
        """Before the request is let go."""
        self.used = used_by(self)
        JsonCall.refuse(self, error)

    def tell(self) -> None:
        """Send it, and tell the log."""
        self.respond(self.status, self.body, used=self.used)

    def fail(self, error: BaseException) -> None:
        """As every call fails; the log hears of the tables all the same."""
        fail(self.http, partial(self.respond, used=self.used or used_by(self)), error)


def used_by(call: JsonCall) -> str:
    """`music 0.5 0`: table, units read, units written. `music+2` names two further tables; what there is none of is `-`.

    What no table can be called is left out, whatever the request says. 4 µs.
    """
    names = dict.fromkeys(filter(_is_name, map(bare_name, call.operation.tables(call.request))))
    first = next(iter(names), "-")
    tables = first if len(names) < 2 else f"{first}+{len(names) - 1}"
    if not call.meter:
        return f"{tables} - -"
    return f"{tables} {_units(call.meter, is_write=False)} {_units(call.meter, is_write=True)}"


def _units(meter: Meter, *, is_write: bool) -> str:
    """All that was read or written, of tables and indexes."""
    used = [one for one in meter if one.is_write == is_write]
    return f"{sum([one.table_units + sum([units for _, units in one.index_units]) for one in used]):.15g}"
