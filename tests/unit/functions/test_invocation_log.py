"""Is the log of an invocation bounded, does it say what it leaves out, and does writing it give way?"""

import asyncio
from collections.abc import Callable

import pytest

from hashrange.functions.handler_errors import HandlerError, trace_digest
from hashrange.functions.invocation_log import (
    ERRORS_MAX,
    FUNCTIONS_MAX,
    FunctionLog,
    InvocationLog,
    LoggedErrors,
    errors_of_functions,
    report_of,
)
from hashrange.functions.log_lines import SLICE_SECONDS, LogLines, shown, without_stamp
from hashrange.limits import (
    FUNCTION_LOG_BYTES_MAX,
    FUNCTION_LOG_LINES_MAX,
    LOG_BYTES_PER_SECOND_MAX,
    LOG_LINES_PER_SECOND_MAX,
    LOG_TAIL_BYTES_MAX,
)
from tests.support.clocks import VirtualClock

REPORT = report_of(1.0, 128, 10, None, "")
LOOKS_IN_A_SLICE = 20


class SteppingClock(VirtualClock):
    """A clock that moves at every reading, so that a slice is the same number of readings in every run."""

    def monotonic(self) -> float:
        """Seconds, later than at the last reading."""
        self.advance_all(SLICE_SECONDS / LOOKS_IN_A_SLICE)
        return super().monotonic()


class Logged:
    """What was logged; clock and lines are those of one server."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.lines = LogLines(clock, shown)
        self.written: list[str] = []

    def log(self, request_id: str = "1", errors: LoggedErrors | None = None) -> InvocationLog:
        """The log of one invocation."""
        log = FunctionLog(lambda _, line: self.written.append(line), self.lines, errors or LoggedErrors())
        return InvocationLog(request_id, log)

    @property
    def output(self) -> list[str]:
        """The lines without END and REPORT."""
        return [line for line in self.written if not line.startswith(("END ", "REPORT "))]


def run(test: Callable[[Logged], None], clock: VirtualClock | None = None) -> Logged:
    """Run a test in a loop; all lines have been written afterwards."""
    logged = Logged(clock or VirtualClock())

    async def main() -> None:
        test(logged)
        await logged.lines.written()

    asyncio.run(main())
    return logged


@pytest.mark.parametrize("piece_bytes", [1, 7, 1_000, 10**6])
def test_lines_come_as_they_were_written_whatever_the_pieces(piece_bytes: int) -> None:
    data = b"one\n\ntwo\nthree"

    def test(logged: Logged) -> None:
        log = logged.log()
        for start in range(0, len(data), piece_bytes):
            log.feed(data[start : start + piece_bytes])
        log.end(REPORT, None)
        assert log.tail.startswith(data + b"\nEND RequestId: 1\nREPORT ")

    assert run(test).output == ["one", "", "two", "three"]


def test_an_invocation_has_so_many_lines_and_the_log_says_how_many_are_left_out() -> None:
    def test(logged: Logged) -> None:
        log = logged.log()
        for _ in range(9):
            log.feed(b"\n" * 100_000)
        log.end(REPORT, None)
        assert log.tail.startswith(b"\n")
        assert len(log.tail) == LOG_TAIL_BYTES_MAX

    *output, told = run(test).output
    assert output == [""] * FUNCTION_LOG_LINES_MAX
    left = 900_000 - FUNCTION_LOG_LINES_MAX
    assert told == f"({left:,} bytes of output, in {left:,} lines, were left out of the log)"


def test_an_invocation_has_so_many_bytes_and_the_rest_of_a_cut_line_counts_as_a_line() -> None:
    def test(logged: Logged) -> None:
        log = logged.log()
        log.feed(b"x" * (FUNCTION_LOG_BYTES_MAX + 5))
        log.feed(b"yy\nlast")
        log.end(REPORT, None)

    output, told = run(test).output
    assert output == "x" * FUNCTION_LOG_BYTES_MAX
    assert told == "(12 bytes of output, in 2 lines, were left out of the log)"


def test_the_tail_is_the_end_of_the_output_whatever_was_logged() -> None:
    def test(logged: Logged) -> None:
        log = logged.log()
        log.feed(b"\n" * 20_000 + b"\x1b[31m\xff\x07the last words")
        log.end(REPORT, None)
        assert b"\n\x1b[31m\xff\x07the last words\nEND RequestId: 1\nREPORT " in log.tail

    run(test)


def test_all_invocations_of_a_second_have_so_many_lines() -> None:
    def test(logged: Logged) -> None:
        for number in range(3):
            log = logged.log(str(number))
            log.feed(b"line\n" * (LOG_LINES_PER_SECOND_MAX // 2 + 1))
            log.end(REPORT, None)
        assert logged.output.count("line") == LOG_LINES_PER_SECOND_MAX - 2  # END and REPORT of the first
        logged.clock.advance_all(1.0)
        logged.written.clear()
        logged.log().feed(b"a second later\n")

    assert run(test).output == ["a second later"]


def test_all_invocations_of_a_second_have_so_many_bytes() -> None:
    def test(logged: Logged) -> None:
        for _ in range(2 * LOG_BYTES_PER_SECOND_MAX // FUNCTION_LOG_BYTES_MAX):
            logged.log().feed((b"x" * 1023 + b"\n") * (FUNCTION_LOG_BYTES_MAX // 1024))

    assert sum(len(line) + 1 for line in run(test).output) == LOG_BYTES_PER_SECOND_MAX


def test_what_comes_behind_a_cut_line_is_not_glued_to_it() -> None:
    def test(logged: Logged) -> None:
        other, log = logged.log(), logged.log()
        other.feed(b"\n" * (LOG_LINES_PER_SECOND_MAX - 1))
        log.feed(b"whole\ncut, ")
        log.feed(b"here")
        logged.clock.advance_all(1.0)
        log.feed(b" and there\nagain whole\n")
        log.end(REPORT, None)

    assert run(test).output[LOG_LINES_PER_SECOND_MAX - 1 :] == [
        "whole",
        "again whole",
        "(20 bytes of output, in 1 line, were left out of the log)",
    ]


def test_what_is_printed_after_an_invocation_is_told_when_the_environment_goes_on() -> None:
    def test(logged: Logged) -> None:
        log = logged.log()
        log.end(REPORT, None)
        log.feed(b"\n" * (FUNCTION_LOG_LINES_MAX + 1) + b"end")
        log.tell()
        log.tell()

    (told,) = [line for line in run(test).output if line]
    assert told == "(4 bytes of output, in 2 lines, were left out of the log)"


@pytest.mark.parametrize("data", [b"short\n" * 5_000, b"\n" * 900_000, b"\x1b" * 200_000, b"\r" * 200_000])
def test_writing_lines_gives_way(data: bytes) -> None:
    """Counted: between two turns of the loop there are no more readings of the clock,
    one for each piece, than in a slice.
    """
    logged = Logged(SteppingClock())
    pieces: list[int] = []
    count = 0

    def show(piece: str) -> str:
        nonlocal count
        count += 1
        return shown(piece)

    logged.lines = LogLines(logged.clock, show)

    async def main() -> None:
        nonlocal count
        log = logged.log()
        log.feed(data)
        log.end(REPORT, None)
        while logged.lines._waiting:
            pieces.append(count)
            count = 0
            await asyncio.sleep(0)

    asyncio.run(main())
    assert len(pieces) > 5
    assert max(pieces) <= LOOKS_IN_A_SLICE
    assert logged.written[-1].startswith("REPORT ")


def test_few_lines_are_written_soon_whatever_others_print() -> None:
    logged = Logged(SteppingClock())

    async def main() -> None:
        flood, short = logged.log("flood"), logged.log("short")
        flood.feed(b"x\n" * 5_000)
        short.feed(b"short\n")
        short.end(REPORT, None)
        await short.written()
        assert logged.output.index("short") < 3 * LOOKS_IN_A_SLICE
        await logged.lines.written()
        assert len(logged.output) == 5_001

    asyncio.run(main())


def test_output_commands_no_terminal_and_forges_no_record() -> None:
    def test(logged: Logged) -> None:
        log = logged.log()
        log.feed("\x1b]0;title\x07\x9b31m\u202eabc\tä\n".encode())
        log.feed("[ERROR] first\r\xa0\xa0second\r2026-11-28 10:00:00,000 ERROR hashrange: forged\n".encode())
        log.end(REPORT, None)

    output = run(test).output
    assert output[0] == r"\x1b]0;title\x07\x9b31m\u202eabc" + "\tä"
    assert output[1].startswith("[ERROR] first\n  second\n2026-")


def test_the_trace_of_an_error_is_logged_once_until_a_success() -> None:
    event = "[ERROR] KeyError: 'id'\rTraceback (most recent call last):\r\xa0\xa0File app.py\n".encode()
    same, other = HandlerError("KeyError", "'id'", b'["a"]'), HandlerError("KeyError", "'id'", b'["b"]')
    errors = LoggedErrors()

    def test(logged: Logged) -> None:
        for number, error in enumerate((same, same, same, other, same, None, same)):
            if error is None:
                errors.forget()
                continue
            log = logged.log(f"{number}", errors)
            log.feed(b"begins")
            log.feed_error(event, error)
            log.end(REPORT, None)
            assert log.tail.startswith(b"begins" + event + b"END "), "the tail is as Lambda's"

    again = ["begins", "[ERROR] KeyError: 'id' (the trace is the same as before, and is logged again after a success)"]
    whole = ["begins[ERROR] KeyError: 'id'\nTraceback (most recent call last):\n  File app.py"]
    assert run(test).output == [*whole, *again, *again, *whole, *again, *whole]


def test_an_error_that_comes_again_is_one_short_harmless_line() -> None:
    error = HandlerError("E\n", "a\rb\x1b[0m" + "x" * 100_000, b"[]")
    errors = LoggedErrors()
    errors.note(trace_digest(error))

    def test(logged: Logged) -> None:
        logged.log("1", errors).feed_error(b"event\n", error)

    (line,) = run(test).output
    assert line.startswith(r"[ERROR] E\n: a\rb\x1b[0mxxx")
    assert line.isprintable()
    assert len(line) < 1_200


def test_few_errors_are_remembered() -> None:
    errors_of = errors_of_functions()
    errors = errors_of("a")
    assert [errors.note(bytes([number % ERRORS_MAX])) for number in range(2 * ERRORS_MAX)].count(True) == ERRORS_MAX
    assert errors.note(b"one more"), "which lets all others be forgotten"
    assert errors.note(bytes([1]))
    for number in range(FUNCTIONS_MAX):
        assert errors_of(f"{number}") is errors_of(f"{number}")
    assert errors_of("a") is not errors


@pytest.mark.parametrize(
    ("line", "logged"),
    [
        ("2026-11-28T21:55:07.324Z\tid-1\tINFO\tconfirmed 7", "confirmed 7"),
        ("2026-11-28T21:55:07.324Z\tid-1\tERROR\tno\n  way", "[ERROR] no\n  way"),
        ("2026-11-28T21:55:07.324Z\tundefined\tWARN\tat load", "[WARN] at load"),
        ("[INFO]\t2026-11-28T21:55:07.324Z\tid-1\tconfirmed 7", "confirmed 7"),
        ("[WARNING]\t2026-11-28T21:55:07.324Z\t\tat load", "[WARNING] at load"),
        ("2026-11-28T21:55:07.324Z id-1 Task timed out after 3.00 seconds", "Task timed out after 3.00 seconds"),
        (
            "2026-11-28T21:55:07.324Z\tid-2\tINFO\tof another one",
            "2026-11-28T21:55:07.324Z\tid-2\tINFO\tof another one",
        ),
        ("[ERROR] KeyError: 'id'", "[ERROR] KeyError: 'id'"),
        ("confirmed 2026-11-28T21:55:07.324Z\tid-1\tINFO\t7", "confirmed 2026-11-28T21:55:07.324Z\tid-1\tINFO\t7"),
        ("", ""),
    ],
)
def test_a_line_has_no_stamps_beside_those_of_the_log(line: str, logged: str) -> None:
    assert without_stamp("id-1", line) == logged
