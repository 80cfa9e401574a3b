"""Which environment variables do tests see?
All except those that would change the behaviour of a server or a client.
"""

import os

from hashrange.cli.settings_sources import CONFIG_VARIABLE, load_settings
from hashrange.settings import Settings, options
from tests.support.environment import hide_what_is_outside

OTHERS = {
    "HOST": "build-7",  # set by some shells and some CI machines
    "PORT": "3000",
    "LOG_LEVEL": "debug",
    "CONFIG": "release",
    "HASHRANGE_CI": "1",
    "HASHRANGE_FUZZ_SEED": "7",
    "PATH": "/bin",
}


def test_every_option_is_hidden_and_nothing_else() -> None:
    own = {option.variable: "1" for option in options()} | {
        CONFIG_VARIABLE: "a.toml",
        "AWS_PROFILE": "work",
        "CI": "true",
    }
    environment = own | OTHERS
    hide_what_is_outside(environment)
    assert environment == OTHERS | {"AWS_EC2_METADATA_DISABLED": "true"}
    assert load_settings({}, environment) == (Settings(), [], {})


def test_it_is_hidden_from_this_test() -> None:
    environment = dict(os.environ)
    hide_what_is_outside(environment)
    assert environment == dict(os.environ)
