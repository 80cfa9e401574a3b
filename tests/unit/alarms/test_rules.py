"""Rules of composite alarms: AT_LEAST, and what is refused in the service's words."""

from typing import Any

import pytest

from hashrange.cloudwatch.alarms.rule import RuleError, read_rule
from tests.unit.alarms.test_alarms import ALARM
from tests.unit.alarms.test_members import refused

STATES = {"a": "ALARM", "b": "ALARM", "c": "OK", "d e": "INSUFFICIENT_DATA"}


@pytest.mark.parametrize(
    ("rule", "is_true"),
    [
        ("AT_LEAST(2, ALARM, (a, b, c))", True),
        ("AT_LEAST(3, ALARM, (a, b, c))", False),
        ('at_least( 2,NOT ALARM,(a,c,"d e") )', True),
        ('AT_LEAST(50%, ALARM, (a, b, c, "d e"))', True),
        ('AT_LEAST(51%, ALARM, (a, b, c, "d e"))', False),
        ("AT_LEAST(1%, OK, (a, b, c))", True),
        ('AT_LEAST("100%", NOT OK, (a, b))', True),
        ('AT_LEAST(1, INSUFFICIENT_DATA, (arn:aws:cloudwatch:us-east-1:000000000000:alarm:c, "d e"))', True),
        ("AT_LEAST(2, ALARM, (a, b, c)) AND NOT ALARM(c)", True),
        ("NOT AT_LEAST(1, OK, (a))", True),
        ("ALARM(ALARM) OR OK(at_least)", False),
    ],
)  # fmt: skip
def test_so_many_alarms_are_in_a_state(rule: str, *, is_true: bool) -> None:
    assert read_rule(rule, "000000000000", "us-east-1").is_true(STATES.get) is is_true  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("()", "Unsupported token ')' at char 1"),
        ("ALARM(Sample Oldest Age) OR TRUE", "Unsupported token 'Oldest' at char 13, must be: ')'"),
        ("ALARM(a) ALARM(b)", "Unsupported token 'ALARM' at char 9"),
        ("WARN(a)", "Unsupported token 'WARN' at char 0"),
        ('TRUE OR "a', "Unsupported token '\"a' at char 8"),
        ("TRUE,", "Unsupported token ',' at char 4"),
        ("AT_LEAST(0, ALARM, (a))", "Unsupported token '0' at char 9"),
        ("AT_LEAST(3, ALARM, (a, b))", "Unsupported token '3' at char 9"),
        ("AT_LEAST(101%, ALARM, (a, b))", "Unsupported token '101%' at char 9"),
        ("AT_LEAST(x, ALARM, (a, b))", "Unsupported token 'x' at char 9"),
        ("AT_LEAST(1, TRUE, (a, b))", "Unsupported token 'TRUE' at char 12"),
        ("AT_LEAST(1, ALARM, ())", "Unsupported token ')' at char 20"),
        ("AT_LEAST(1, ALARM, (a b))", "Unsupported token 'b' at char 22"),
        ("AT_LEAST(1, ALARM, a)", "Unsupported token 'a' at char 19"),
        ("AT_LEAST(1, ALARM, (a)", "it ends too early"),
        ("AT_LEAST(" + "9" * 5000 + ", ALARM, (a))", "Unsupported token '99"),
    ],
)
def test_rules_are_refused_at_a_place(rule: str, reason: str) -> None:
    with pytest.raises(RuleError) as caught:
        read_rule(rule, "000000000000", "us-east-1")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("()", "Error in AlarmRule [Unsupported token ')' at char 1]"),
        (" ALARM(load)", "AlarmRule must not contain leading or trailing whitespace or be null"),
        ("ALARM(load)\n", "AlarmRule must not contain leading or trailing whitespace or be null"),
        (
            "ALARM(load) OR AT_LEAST(1, OK, (load, x, y))",
            "Could not save the composite alarm as alarms [x, y] in the alarm rule do not exist",
        ),
    ],
)
def test_rules_are_refused_in_the_services_words(cloudwatch: Any, rule: str, message: str) -> None:
    cloudwatch.put_metric_alarm(**ALARM)
    assert refused(cloudwatch.put_composite_alarm, "ValidationError", AlarmName="any", AlarmRule=rule) == message


def test_alarms_on_which_others_depend_are_not_deleted(cloudwatch: Any) -> None:
    for name in ("one", "two"):
        cloudwatch.put_metric_alarm(**ALARM | {"AlarmName": name})
        cloudwatch.put_composite_alarm(AlarmName=f"of-{name}", AlarmRule=f"AT_LEAST(1, ALARM, ({name}))")
    message = refused(cloudwatch.delete_alarms, "ValidationError", AlarmNames=["two"])
    assert message == "Cannot delete two as there are composite alarm(s) depending on it."
    message = refused(cloudwatch.delete_alarms, "ValidationError", AlarmNames=["two", "one"])
    assert message == "Cannot delete two,one as there are composite alarm(s) depending on them."
    cloudwatch.delete_alarms(AlarmNames=["two", "of-two"])
