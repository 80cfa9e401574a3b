"""What a caller hears of its tasks: `main.py call` calls them, `main.py read ID` reads the result of an earlier run."""

# mypy: disable-error-code="import-not-found"

import json
import sys
from typing import Any

from celery import chord
from tasks import add, app, divide, total

GIVEN_UP_SECONDS = 60


def call() -> dict[str, Any]:
    result = add.delay(4, 4)
    failed = divide.delay(1, 0)
    forgotten = add.delay(1, 1)
    values = {
        "sum": result.get(timeout=GIVEN_UP_SECONDS),
        "forgotten": forgotten.get(timeout=GIVEN_UP_SECONDS),
        "failed": type(failed.get(timeout=GIVEN_UP_SECONDS, propagate=False)).__name__,
        "states": [result.state, failed.state],
        "chord": chord(add.s(number, number) for number in range(10))(total.s()).get(timeout=GIVEN_UP_SECONDS),
    }
    forgotten.forget()
    return {"id": result.id, **values, "after": app.AsyncResult(forgotten.id).state}


def read(task: str) -> dict[str, Any]:
    result = app.AsyncResult(task)
    return {"state": result.state, "value": result.result}


print(json.dumps(call() if sys.argv[1] == "call" else read(sys.argv[2])))
