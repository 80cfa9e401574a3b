"""What `hashrange capacity` prints for its worked cases."""

import io
import shlex
from contextlib import redirect_stdout

from hashrange.cli.main import DONE, main
from tests.scripts.cases import case_test


def evaluate(line: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["capacity", *shlex.split(line)]) == DONE
    return "\n".join(filter(None, printed.getvalue().splitlines()))


test_capacity = case_test("capacity.case", evaluate)
