"""What does the access log say of a request that reached its operation?
The tables that it names, and the units that it used.

Calls are LoggedCalls only if there is an access log, so that servers without one do no extra work. This file must not
know the other fields of a log line (`server/access_log.py`).
"""

import re
from functools import partial

from hashrange.errors import ApiError
from hashrange.limits import TABLE_NAME_LENGTH_MAX
from hashrange.operations.meter import Meter
from hashrange.operations.naming import bare_name
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.server.protocols.dynamodb_json.call import JsonCall

_is_name = re.compile(f"{NAME_PATTERN.removesuffix('+')}{{1,{TABLE_NAME_LENGTH_MAX}}}").fullmatch


class LoggedCall(JsonCall):
    """A call that records its tables and capacity for the access log."""

    used: str = ""

    def done(self, reply: Reply | None) -> None:
        """Record tables and capacity before the request is freed, then write the reply."""
        self.used = used_by(self)
        JsonCall.done(self, reply)

    def refuse(self, error: ApiError) -> None:
        """Record tables and capacity before the request is freed, then write the error."""
        self.used = used_by(self)
        JsonCall.refuse(self, error)

    def send(self) -> None:
        """Send the reply, with tables and capacity for the access log."""
        self.respond(self.status, self.body, None, self.extra, self.used)

    def fail(self, error: BaseException) -> None:
        """Log an internal error (unless Abandoned) and answer 500, with tables and capacity for the access log."""
        self.respond = partial(self.respond, used=self.used or used_by(self))
        JsonCall.fail(self, error)


def used_by(call: JsonCall) -> str:
    """Return a call's fields of the access log, `music 0.5 0`: table, units read, units written.

    `music+2` stands for music and two further tables, `-` for no value. Names that no table can have are left out.
    Takes 4 µs.
    """
    names = dict.fromkeys(filter(_is_name, map(bare_name, call.operation.tables(call.request))))
    first = next(iter(names), "-")
    tables = first if len(names) < 2 else f"{first}+{len(names) - 1}"
    if not call.meter:
        return f"{tables} - -"
    return f"{tables} {_units(call.meter, is_write=False)} {_units(call.meter, is_write=True)}"


def _units(meter: Meter, *, is_write: bool) -> str:
    """Text of the units read or, with `is_write`, written: the sum over all tables and indexes."""
    used = [one for one in meter if one.is_write == is_write]
    return f"{sum([one.table_units + sum([units for _, units in one.index_units]) for one in used]):.15g}"
