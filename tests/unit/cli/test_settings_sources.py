"""Settings from several sources: later sources win, and each refusal names the source, the value and the remedy."""

from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.parsing import UsageError
from hashrange.cli.settings_sources import STORE_PASSWORD_VARIABLE, load_settings
from hashrange.settings import Settings, options
from hashrange.store.cassandra.address import PASSWORD_VARIABLE

SAMPLES: dict[str, tuple[str, Any]] = {
    "text": ("here", "here"),
    "integer": ("7077", 7077),
    "number": ("1.5", 1.5),
    "switch": ("true", True),
}
PLAIN_OPTIONS = [option for option in options() if option.key not in {"in_memory", "tls_cert", "tls_key"}]


def write(folder: Path, text: str) -> str:
    path = folder / "hashrange.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_nothing_given_means_the_defaults() -> None:
    assert load_settings({}, {}) == (Settings(), [], {})


@pytest.mark.parametrize("option", PLAIN_OPTIONS, ids=lambda option: option.key)
def test_every_option_is_heard_from_every_source(option: Any, tmp_path: Path) -> None:
    text, value = SAMPLES.get(option.kind) or (option.choices[-1], option.choices[-1])
    toml = f'"{text}"' if option.kind in {"text", "choice"} else text
    sources = {
        "flag": load_settings({option.key: text}, {}),
        "variable": load_settings({}, {option.variable: text}),
        "file": load_settings({}, {}, write(tmp_path, f"{option.key} = {toml}")),
    }
    for source, loaded in sources.items():
        assert getattr(loaded.settings, option.field) == value, source


def test_flags_win_over_environment_and_environment_over_file(tmp_path: Path) -> None:
    config = write(tmp_path, 'port = 1\nhost = "file"\nlog_level = "error"')
    environment = {"HASHRANGE_PORT": "2", "HASHRANGE_HOST": "environment"}
    settings = load_settings({"port": "3"}, environment, config).settings
    assert (settings.port, settings.host, settings.log_level) == (3, "environment", "error")


def test_the_environment_may_name_the_file_and_the_flag_wins(tmp_path: Path) -> None:
    config = write(tmp_path, "port = 1")
    assert load_settings({}, {"HASHRANGE_CONFIG": config}).settings.port == 1
    with pytest.raises(UsageError, match=r"no\.toml cannot be read"):
        load_settings({}, {"HASHRANGE_CONFIG": config}, str(tmp_path / "no.toml"))


@pytest.mark.parametrize(
    ("flags", "environment", "data_dir"),
    [
        ({"in_memory": True}, {}, None),
        ({"in_memory": True}, {"HASHRANGE_DATA_DIR": "/data"}, None),
        ({"data_dir": "here"}, {"HASHRANGE_IN_MEMORY": "1"}, "here"),
        ({"in_memory": False}, {"HASHRANGE_IN_MEMORY": "yes"}, "./hashrange-data"),
        ({}, {"HASHRANGE_IN_MEMORY": "off", "HASHRANGE_DATA_DIR": "/data"}, "/data"),
        ({}, {"HASHRANGE_DATA_DIR": ""}, "./hashrange-data"),
    ],
)
def test_in_memory_and_a_folder_are_two_answers_to_one_question(
    flags: dict[str, Any], environment: dict[str, str], data_dir: str | None
) -> None:
    assert load_settings(flags, environment).settings.data_dir == data_dir


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"port": "web"}, {}, '--port is "web"; it must be a whole number from 0 to 65,535, such as 8000.'),
        ({"port": "65536"}, {}, "--port is 65536; it must be a whole number from 0 to 65,535, such as 8000."),
        ({"port": "8000.5"}, {}, '--port is "8000.5"; it must be a whole number from 0 to 65,535, such as 8000.'),
        (
            {"table_state_delay": "nan"},
            {},
            "--table-state-delay is nan; it must be a number of seconds from 0 to 3,600",
        ),
        (
            {"table_state_delay": "-1"},
            {},
            "--table-state-delay is -1.0; it must be a number of seconds from 0 to 3,600",
        ),
        ({}, {"HASHRANGE_SHARED_DB": "maybe"}, 'HASHRANGE_SHARED_DB is "maybe"; it must be true or false.'),
        (
            {},
            {"HASHRANGE_LOG_LEVEL": "loud"},
            'HASHRANGE_LOG_LEVEL is "loud"; it must be debug, info, warning or error.',
        ),
        ({"port": "８０００"}, {}, '--port is "８０００"; it must be'),
        ({"port": "8_000"}, {}, '--port is "8_000"; it must be'),
        ({"index_delay": "１"}, {}, '--index-delay is "１"; it must be'),
        (
            {"item_collection_limit": "0"},
            {},
            (
                "--item-collection-limit is 0; it must be a whole number of bytes from 1 to"
                " 1,125,899,906,842,624, such as 10737418240."
            ),
        ),
        ({"host": ""}, {}, '--host is ""; it must be text that is not empty.'),
        (
            {"in_memory": True, "data_dir": "here"},
            {},
            "--in-memory and --data-dir (here) are both given; keep one of them.",
        ),
        (
            {"in_memory": True, "store": "cassandra://a/b"},
            {},
            "--in-memory and --store are both given; keep one of them.",
        ),
        (
            {},
            {"HASHRANGE_DATA_DIR": "here", "HASHRANGE_STORE": "cassandra://me:secret@a/b"},
            "HASHRANGE_DATA_DIR (here) and HASHRANGE_STORE are both given; keep one of them.",
        ),
        ({"tls_cert": "a.pem"}, {}, "--tls-cert is set but --tls-key is not: HTTPS needs both, plain HTTP neither."),
        ({"tls_key": "a.pem"}, {}, "--tls-key is set but --tls-cert is not"),
    ],
)
def test_a_bad_value_is_refused_in_one_sentence(
    flags: dict[str, Any], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(flags, environment)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "has an unknown option prot. Did you mean port?"),
        ("colour = 1", "has an unknown option colour. `hashrange serve --help` lists what it knows."),
        ('port = "8000"', 'is "8000"; it must be a whole number from 0 to 65,535, such as 8000.'),
        ("port = true", "is true; it must be a whole number"),
        ("access_log = 1", "is 1; it must be true or false."),
        ("host = [1]", "is [1]; it must be text that is not empty."),
        ("log_level = [1]", "is [1]; it must be debug, info, warning or error."),
        ("port =", "cannot be used: it is no TOML: it breaks off at its end."),
        ("port = " + "9" * 5000, "cannot be used: a number in it has too many digits."),
        ("port = " + "[" * 100_000, "cannot be used: it is nested too deeply."),
        ("in_memory = true\ndata_dir = 'x'", "hashrange.toml (x) are both given; keep one of them."),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings({}, {}, write(tmp_path, text))
    assert message in str(caught.value)
    assert "hashrange.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "environment", "store", "data_dir"),
    [
        ({"store": "cassandra://a/b"}, {}, "cassandra://a/b", None),
        ({"store": "cassandra://a/b"}, {"HASHRANGE_DATA_DIR": "here"}, "cassandra://a/b", None),
        ({"store": "cassandra://a/b"}, {"HASHRANGE_IN_MEMORY": "true"}, "cassandra://a/b", None),
        ({"data_dir": "here"}, {"HASHRANGE_STORE": "cassandra://a/b"}, None, "here"),
        ({"in_memory": True}, {"HASHRANGE_STORE": "cassandra://a/b"}, None, None),
        ({"in_memory": False}, {"HASHRANGE_STORE": "cassandra://a/b"}, "cassandra://a/b", None),
    ],
)
def test_a_place_of_the_content_overrides_that_of_an_earlier_source(
    flags: dict[str, Any], environment: dict[str, str], store: str | None, data_dir: str | None
) -> None:
    settings, warnings, _ = load_settings(flags, environment)
    assert (settings.store, settings.data_dir) == (store, data_dir)
    assert warnings == []


def test_a_folder_is_there_again_if_a_later_source_says_that_nothing_is_in_memory(tmp_path: Path) -> None:
    config = write(tmp_path, "data_dir = 'here'")
    settings = load_settings({"in_memory": False}, {"HASHRANGE_IN_MEMORY": "true"}, config).settings
    assert settings.data_dir == "here"


def test_the_password_of_a_cluster_is_no_option_and_no_mistake() -> None:
    assert load_settings({}, {PASSWORD_VARIABLE: "secret"}).warnings == []
    assert STORE_PASSWORD_VARIABLE == PASSWORD_VARIABLE


def test_a_variable_that_is_no_option_is_reported_and_nothing_more() -> None:
    settings, warnings, _ = load_settings({}, {"HASHRANGE_PROT": "1", "HASHRANGE_TEST_X": "1", "HOME": "/"})
    assert settings == Settings()
    assert warnings == [
        "the environment variable HASHRANGE_PROT is no option of Hashrange. Did you mean HASHRANGE_PORT?"
    ]


def test_what_all_variables_begin_with_makes_none_alike() -> None:
    (warning,) = load_settings({}, {"HASHRANGE_FOO": "1"}).warnings
    assert "Did you mean" not in warning
    (warning,) = load_settings({}, {"HASHRANGE_DATADIR": "1"}).warnings
    assert warning.endswith("Did you mean HASHRANGE_DATA_DIR?")


def test_words_to_choose_from_are_understood_in_capitals_from_every_source(tmp_path: Path) -> None:
    for loaded in (
        load_settings({"log_level": "DEBUG"}, {}),
        load_settings({}, {"HASHRANGE_LOG_LEVEL": "Debug"}),
        load_settings({}, {}, write(tmp_path, 'log_level = "DEBUG"')),
    ):
        assert loaded.settings.log_level == "debug"


def test_what_kubernetes_sets_beside_a_service_named_hashrange_is_ignored() -> None:
    environment = {
        "HASHRANGE_PORT": "tcp://10.0.0.1:8000",
        "HASHRANGE_PORT_8000_TCP": "tcp://10.0.0.1:8000",
        "HASHRANGE_SERVICE_HOST": "10.0.0.1",
        "HASHRANGE_SERVICE_PORT": "8000",
    }
    assert load_settings({}, environment) == (Settings(), [], {})
