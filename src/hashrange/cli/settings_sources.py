"""Which settings take effect? Defaults, then the TOML file, then the environment, then flags; each later one wins.

A value is checked where it is read, so that a refusal names its flag, variable or key, the value and a remedy.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from hashrange.cli.parsing import UsageError, hint
from hashrange.settings import Option, Settings, options

CONFIG_VARIABLE = "HASHRANGE_CONFIG"
MCP_TOKEN_VARIABLE = "HASHRANGE_MCP_TOKEN"  # noqa: S105 - the name of a variable, not its value
"""The token of `hashrange mcp --http`, which is no setting of a server."""
STORE_PASSWORD_VARIABLE = "HASHRANGE_STORE_PASSWORD"  # noqa: S105 - as above
"""The password of the cluster of `--store`, which is in no setting."""
NO_OPTIONS = frozenset({CONFIG_VARIABLE, MCP_TOKEN_VARIABLE, STORE_PASSWORD_VARIABLE})
PLACES = ("in_memory", "data_dir", "store")
"""Keys of options that say where the content is. A source names one place, which overrides those of earlier sources."""
PREFIX = "HASHRANGE_"
TESTS_PREFIXES = ("HASHRANGE_CI", "HASHRANGE_FUZZ_", "HASHRANGE_TEST_", "HASHRANGE_SOAK", "HASHRANGE_BENCH_")
KUBERNETES_PREFIXES = ("HASHRANGE_SERVICE_", "HASHRANGE_PORT_")
"""Prefixes of variables that Kubernetes sets in the pods of a namespace with a service `hashrange`, besides
HASHRANGE_PORT=tcp://…; all are ignored."""
_find_flags = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")
TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off", ""})


class Loaded(NamedTuple):
    """The settings that take effect, and warnings for the operator about unknown environment variables."""

    settings: Settings
    warnings: list[str]
    given_names: Mapping[str, str]
    """Flag → the variable or key that gave its value instead; flags that were given are not in it."""


def in_given_names(sentence: str, given_names: Mapping[str, str]) -> str:
    """A sentence that names flags, with the names by which their values were given."""
    return _find_flags.sub(lambda found: given_names.get(found[0], found[0]), sentence)


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str], config: str | None = None) -> Loaded:
    """Merge all sources of settings. Raises UsageError.

    `flags`: TOML key → value of the flag, as text or already converted. `config`: path of the TOML file; None:
    HASHRANGE_CONFIG in `environment` names the file, if there is one.
    """
    by_key = {option.key: option for option in options()}
    chosen: dict[str, Any] = {}
    names = {key: option.flag for key, option in by_key.items()}
    warnings: list[str] = []
    if config == "":
        raise UsageError('--config is ""; it must be the name of a TOML file.')
    config = config or environment.get(CONFIG_VARIABLE) or None
    if config is not None:
        _merge(chosen, names, _read_file(config, by_key), lambda option: f"{option.key} in {config}")
    _merge(chosen, names, _read_environment(environment, by_key, warnings), lambda option: option.variable)
    parsed = {key: _parsed(by_key[key], by_key[key].flag, value) for key, value in flags.items()}
    _merge(chosen, names, parsed, lambda option: option.flag)
    if chosen.pop("in_memory", False) or "store" in chosen:
        chosen["data_dir"] = None
    settings = msgspec.structs.replace(Settings(), **{by_key[key].field: value for key, value in chosen.items()})
    if (settings.tls_cert is None) != (settings.tls_key is None):
        given, missing = ("tls_cert", "tls_key") if settings.tls_key is None else ("tls_key", "tls_cert")
        raise UsageError(
            f"{names[given]} is set but {by_key[missing].flag} is not: HTTPS needs both, plain HTTP neither."
        )
    given_names = {by_key[key].flag: name for key, name in names.items() if name != by_key[key].flag}
    return Loaded(settings, warnings, given_names)


def _merge(
    chosen: dict[str, Any], names: dict[str, str], found: Mapping[str, Any], name_of: Callable[[Option], str]
) -> None:
    """Let `found`, the values of one source, override those of earlier sources;
    a place of the content overrides all other places.

    `names`: key → what gave its value, kept up to date. `name_of`: what the source calls an option.
    Raises UsageError if `found` has two places.
    """
    by_key = {option.key: option for option in options()}
    given = [key for key in PLACES if found.get(key)]
    if len(given) > 1:
        shown = [name_of(by_key[key]) + (f" ({found[key]})" if key == "data_dir" else "") for key in given]
        raise UsageError(f"{shown[0]} and {shown[1]} are both given; keep one of them.")
    if given:
        chosen.pop("store", None)  # a folder stays, for a later source that says that nothing is in memory
        chosen["in_memory"] = False
    chosen.update(found)
    names.update({key: name_of(by_key[key]) for key in found})


def _read_file(path: str, by_key: Mapping[str, Option]) -> dict[str, Any]:
    """The option values in a TOML file. Raises UsageError for an unreadable file, unknown option or wrong value."""
    from hashrange.written.values import TomlFault, read_toml

    try:
        with open(path, "rb") as file:
            data = read_toml(file.read())
    except OSError as error:
        raise UsageError(
            f"the settings file {path} cannot be read: {error.strerror}. Mend --config (or {CONFIG_VARIABLE})."
        ) from None
    except TomlFault as error:
        raise UsageError(f"the settings file {path} cannot be used: {error}") from None
    found = {}
    for key, value in data.items():
        option = by_key.get(key)
        if option is None:
            raise UsageError(f"{path} has an unknown option {key}.{hint(key, list(by_key))}")
        found[key] = _checked(option, f"{key} in {path}", value)
    return found


def _read_environment(
    environment: Mapping[str, str], by_key: Mapping[str, Option], warnings: list[str]
) -> dict[str, Any]:
    """The option values among HASHRANGE_… variables; an empty one counts as unset. Raises UsageError for a wrong value.

    Appends a warning to `warnings` for each other such variable but those of NO_OPTIONS, tests and Kubernetes.
    """
    by_variable = {option.variable: option for option in by_key.values()}
    found = {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX) or variable in NO_OPTIONS or not text:
            continue
        option = by_variable.get(variable)
        if option is not None and not (variable == "HASHRANGE_PORT" and text.startswith(("tcp://", "udp://"))):
            found[option.key] = _parsed(option, variable, text)
        elif option is None and not variable.startswith((*TESTS_PREFIXES, *KUBERNETES_PREFIXES)):
            warnings.append(
                f"the environment variable {variable} is no option of Hashrange.{_variable_hint(variable, by_variable)}"
            )
    return found


def _variable_hint(variable: str, known: Mapping[str, Option]) -> str:
    """A sentence with the variable probably meant, or where all are listed; names are compared without `PREFIX`."""
    told = hint(variable.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known])
    return told.replace("Did you mean ", f"Did you mean {PREFIX}")


def _parsed(option: Option, name: str, value: Any) -> Any:
    """The value of a flag or variable, converted if it is text (a switch's flag is a boolean). Raises UsageError."""
    if not isinstance(value, str):
        return _checked(option, name, value)
    word = value.strip()
    try:
        if option.kind == "switch" and word.lower() in TRUE_WORDS | FALSE_WORDS:
            return word.lower() in TRUE_WORDS
        if option.kind in {"integer", "number"}:
            if not word.isascii() or "_" in word:  # Python would also read ８０００ and 8_000
                raise _refusal(option, name, value)
            return _checked(option, name, int(word) if option.kind == "integer" else float(word))
    except ValueError:
        raise _refusal(option, name, value) from None
    return _checked(option, name, value)


def _checked(option: Option, name: str, value: Any) -> Any:
    """Return the value; that of a choice stripped and in lower case. Raises UsageError for a value not allowed."""
    if option.kind == "choice" and isinstance(value, str):
        chosen = value.strip().lower()
        value = chosen if chosen in option.choices else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_sound = {
        "text": isinstance(value, str) and bool(value),
        "switch": isinstance(value, bool),
        "integer": isinstance(value, int) and is_number and option.least <= value <= option.most,
        "number": is_number and option.least <= value <= option.most,
        "choice": value in option.choices,
    }[option.kind]
    if not is_sound:
        raise _refusal(option, name, value)
    return value


def _refusal(option: Option, name: str, value: Any) -> UsageError:
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else repr(value)
    return UsageError(f"{name} is {shown}; it must be {option.expected}{_such_as(option)}.")


def _such_as(option: Option) -> str:
    """End of a refusal's sentence: the default as an example; empty without one,
    and for options that are no numbers.
    """
    if option.default is None:
        return ""
    if option.kind == "integer":
        return f", such as {option.default}"
    return f", such as {option.default:g}" if option.kind == "number" else ""


def read_text(path: str, flag: str) -> str:
    """The text of a file that `flag` names. Raises UsageError."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"{path} cannot be read: {reason}. Mend {flag}.") from None


def current_environment() -> Mapping[str, str]:
    """The process's environment variables."""
    return os.environ
