"""The file of triggers: functions, mappings and destinations, and what is told of a file that cannot be used."""

from pathlib import Path

import pytest

from hashrange.triggers.configuration import Configuration, ConfigurationError, read_configuration

DESTINATION = "arn:aws:sqs:us-east-1:000000000000:failed"


def read(folder: Path, text: str) -> Configuration:
    path = folder / "triggers.toml"
    path.write_text(text)
    return read_configuration(str(path))


def test_a_file_has_functions_mappings_and_destinations(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"""
        [functions.bill]
        url = "http://127.0.0.1:9000/2015-03-31/functions/function/invocations"

        [[mapping]]
        table = "orders"
        function = "bill"
        batch_size = 7
        filters = ['{{"eventName": ["INSERT"]}}']
        report_batch_item_failures = true
        maximum_retry_attempts = 3
        on_failure = "{DESTINATION}"

        [[mapping]]
        table = "orders"
        function = "bill"
        account = "123456789012"
        region = "eu-west-1"
        enabled = false
        starting_position = "LATEST"

        [destinations]
        "{DESTINATION}" = {{ file = "{tmp_path}/failed.jsonl" }}
        """,
    )
    assert list(found.functions) == ["bill"]
    assert list(found.destinations) == [DESTINATION]
    first, second = found.mappings
    assert first.settings() == {
        "batch_size": 7,
        "batching_window_seconds": 0,
        "parallelization_factor": 1,
        "record_age_seconds_max": -1,
        "retry_attempts_max": 3,
        "is_bisecting": False,
        "tumbling_window_seconds": 0,
        "is_enabled": True,
        "reports_item_failures": True,
        "filters": ('{"eventName": ["INSERT"]}',),
        "destination_arn": DESTINATION,
    }
    assert (second.account, second.region, second.starting_position) == ("123456789012", "eu-west-1", "LATEST")
    assert second.settings()["is_enabled"] is False


def test_an_empty_file_declares_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Configuration()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "cannot be used: "),
        ("x = " + "[" * 5000, "cannot be used: "),
        ("functions: 1", "it is no TOML at line 1, column 10: "),
        ("functions = " + "9" * 5000, "a number in it has too many digits."),
        ("functions = " + "[" * 100_000, "it is nested too deeply."),
        ("surprise = 1", "it has no member surprise. Its members are destinations, functions, mapping."),
        ("[[mapping]]", "mapping 1: it lacks the member table: it must be text of 3 to 255 characters."),
        (
            '[[mapping]]\ntable = "orders"\nfunction = "f"\nbatch_size = 0',
            "mapping 1: batch_size is 0; it must be a whole number from 1 to ",
        ),
        (
            '[[mapping]]\ntable = "orders"\nfunction = "f"\nbatchsize = 5',
            "mapping 1: it has no member batchsize. Did you mean batch_size?",
        ),
        (
            '[[mapping]]\ntable = "orders"\nfunction = "f"\nfilters = [\'{\']',
            "mapping 1: filter 1: Invalid filter pattern definition. It is no JSON at line 1, column 2.",
        ),
        (
            "[[mapping]]\ntable = 'orders'\nfunction = 'f'\nfilters = ['{\"a\": [1]}', '{\"a\": 1}']",
            'mapping 1: filter 2: Invalid filter pattern definition. It is {"a": 1}',
        ),
        (2 * "[[mapping]]\ntable = 'orders'\nfunction = 'f'\n", "mapping 2 is the same as mapping 1"),
        (
            '[[mapping]]\ntable = "orders"\nfunction = "f"\nparallelization_factor = 2\ntumbling_window_in_seconds = 5',
            "mapping 1: ",
        ),
        (
            f'[[mapping]]\ntable = "orders"\nfunction = "f"\non_failure = "{DESTINATION}"',
            f"does not know the destination {DESTINATION}",
        ),
        ('[destinations]\n"x" = { file = "y" }', "the destination 'x'"),
        ("[functions.f]", 'the function "f" cannot be used'),
        ('[functions.f]\ncode = "/no/such/folder"', 'the function "f" cannot be used'),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    told = str(caught.value)
    assert told.startswith(f"the file of triggers {tmp_path}/triggers.toml cannot be used: ")
    assert reason in told


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file or directory"):
        read_configuration(str(tmp_path / "none.toml"))
