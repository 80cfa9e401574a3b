"""Settings: every option is documented exactly once, and its names derive from the field's name."""

import msgspec
import pytest

from hashrange.settings import IN_MEMORY, Option, Settings, options

BY_FIELD = {option.field: option for option in options()}


def test_every_field_is_an_option_and_says_what_it_does() -> None:
    assert set(BY_FIELD) == {*Settings.__struct_fields__, IN_MEMORY.field}
    for option in BY_FIELD.values():
        assert option.help.endswith("."), option.field


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "flag", "variable", "key"),
    [
        ("port", "--port", "HASHRANGE_PORT", "port"),
        ("data_dir", "--data-dir", "HASHRANGE_DATA_DIR", "data_dir"),
        ("table_state_delay_seconds", "--table-state-delay", "HASHRANGE_TABLE_STATE_DELAY", "table_state_delay"),
    ],
)
def test_names_follow_from_the_field(field: str, flag: str, variable: str, key: str) -> None:
    option = BY_FIELD[field]
    assert (option.flag, option.variable, option.key) == (flag, variable, key)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("port", "a whole number from 0 to 65,535"),
        ("table_state_delay_seconds", "a number of seconds from 0 to 3,600"),
        ("log_level", "debug, info, warning or error"),
        ("shared_db", "true or false"),
        ("host", "text that is not empty"),
    ],
)
def test_what_an_option_takes_is_said_in_words(field: str, expected: str) -> None:
    option: Option = BY_FIELD[field]
    assert option.expected == expected


def test_defaults_are_values_that_the_options_take() -> None:
    assert msgspec.convert(msgspec.to_builtins(Settings()), Settings) == Settings()
