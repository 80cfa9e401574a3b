"""What does a suite that was written for moto hear of a name that it expects here?
The sentence of docs/switching.md that helps.
"""

_EMPTY = "A block begins with an empty database, and `database.reset()` empties it again."
_CREDENTIALS = "Fake credentials are not needed"
_DECORATOR = "`@mock_dynamodb` on functions and classes"
_CLIENTS = "Clients may be older than the block, so `patch_client` and `patch_resource` are deleted."
_OTHERS = "Keep moto for other services"
_NESTED = "A block within a block on the same thread shares its database"
_PASSTHROUGH = "`mock_dynamodb(passthrough=[…])` names the services that may call AWS."
_BACKENDS = "There are no backends to look into: use `database.client()`."

ATTRIBUTES = {
    "reset": _EMPTY,
    "mock_env_variables": _CREDENTIALS,
    "unmock_env_variables": _CREDENTIALS,
    "env_variables_mocks": _CREDENTIALS,
    "FAKE_KEYS": _CREDENTIALS,
    "default_session_mock": _CLIENTS,
    "decorate_callable": _DECORATOR,
    "decorate_class": _DECORATOR,
    "enable_patching": _CLIENTS,
    "disable_patching": _CLIENTS,
    "nested_count": _NESTED,
    "instance_count": _NESTED,
    "mocks_active": _NESTED,
    "backends": _BACKENDS,
    "backends_for_urls": _BACKENDS,
}
"""Attribute of moto's mocks → a sentence of docs/switching.md."""
IMPORTS = {
    "mock_aws": _OTHERS,
    "mock_dynamodb2": _DECORATOR,
    "mock_dynamodbstreams": _DECORATOR,
    "patch_client": _CLIENTS,
    "patch_resource": _CLIENTS,
    "dynamodb_backends": _BACKENDS,
    "get_backend": _BACKENDS,
}
"""Name that suites import from moto → a sentence of docs/switching.md.
All other names that begin with MOCK_PREFIX: as `mock_aws`."""
MOCK_PREFIX = "mock_"


def told_of_attribute(name: str) -> str | None:
    """What is said of an attribute of `mock_dynamodb`; None unless it is one of moto's."""
    sentence = ATTRIBUTES.get(name)
    return None if sentence is None else _told(f"mock_dynamodb has no {name}, which is moto's.", sentence)


def told_of_import(name: str) -> str | None:
    """What is said of a name that is imported from `hashrange.testing`; None unless it is one of moto's."""
    sentence = IMPORTS.get(name) or (IMPORTS["mock_aws"] if name.startswith(MOCK_PREFIX) else None)
    begin = f"hashrange.testing has no {name}, which is moto's; it has mock_dynamodb."
    return None if sentence is None else _told(begin, sentence)


def told_of_configuration() -> str:
    """What is said of moto's argument `config`."""
    return _told("mock_dynamodb takes no config, which is moto's.", _PASSTHROUGH)


def _told(begin: str, sentence: str) -> str:
    return f"{begin} docs/switching.md, moto: “{sentence}”"
