"""States of alarms by cases: datapoints and how missing ones are treated → the state."""

import re

from hashrange.cloudwatch.alarms.alarm import STATES, Threshold
from hashrange.cloudwatch.alarms.evaluation import judge
from tests.scripts.cases import case_test

VALUES = {"0": 0.0, "X": 2.0, "-": None}


def evaluate(text: str) -> str:
    """Evaluate the datapoints of each line for the alarm of the last line that describes one."""
    shown, threshold, before = [], None, STATES[0]
    for line in text.splitlines():
        found = re.fullmatch(r"(\d) of (\d) (\w+) from (\w+)", line)
        if found:
            threshold = Threshold("GreaterThanThreshold", 1.0, int(found[2]), int(found[1]), found[3])
            before = next(state for state in STATES if state == found[4])
            continue
        assert threshold is not None
        observed = [(60.0 * place, VALUES[sign]) for place, sign in enumerate(line.split())]
        verdict = judge(threshold, observed, before)
        shown.append(f"{line} → {verdict.state if verdict else f'stays {before}'}")
    return "\n".join(shown)


test_alarms = case_test("alarms.case", evaluate)
