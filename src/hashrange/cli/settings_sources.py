"""Which settings hold? Defaults, then the TOML file, then the environment, then flags; each later one wins.

A value is checked where it was read, so that a refusal names the place, the value and the way out.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from hashrange.cli.parsing import UsageError, hint
from hashrange.settings import Option, Settings, options

CONFIG_VARIABLE = "HASHRANGE_CONFIG"
PREFIX = "HASHRANGE_"
TESTS_PREFIXES = ("HASHRANGE_CI", "HASHRANGE_FUZZ_", "HASHRANGE_TEST_", "HASHRANGE_SOAK", "HASHRANGE_BENCH_")
KUBERNETES_PREFIXES = ("HASHRANGE_SERVICE_", "HASHRANGE_PORT_")
"""Kubernetes sets these, and HASHRANGE_PORT=tcp://…, in every pod beside a service that is named hashrange."""
TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off", ""})


class Loaded(NamedTuple):
    """The settings that hold, and what the operator should hear about them."""

    settings: Settings
    warnings: list[str]


def load_settings(flags: Mapping[str, Any], environment: Mapping[str, str], config: str | None = None) -> Loaded:
    """Merge all sources. `flags` are values by TOML key, as typed or as parsed; raises UsageError.

    `config` names the TOML file; else HASHRANGE_CONFIG does; else there is none.
    """
    by_key = {option.key: option for option in options()}
    chosen: dict[str, Any] = {}
    warnings: list[str] = []
    if config == "":
        raise UsageError('--config is ""; it must be the name of a TOML file.')
    config = config or environment.get(CONFIG_VARIABLE) or None
    if config is not None:
        _merge(chosen, _read_file(config, by_key), config)
    _merge(chosen, _read_environment(environment, by_key, warnings), "the environment")
    _merge(
        chosen, {key: _parsed(by_key[key], by_key[key].flag, value) for key, value in flags.items()}, "the command line"
    )
    if chosen.pop("in_memory", False):
        chosen["data_dir"] = None
    settings = msgspec.structs.replace(Settings(), **{by_key[key].field: value for key, value in chosen.items()})
    if (settings.tls_cert is None) != (settings.tls_key is None):
        given, missing = ("--tls-cert", "--tls-key") if settings.tls_key is None else ("--tls-key", "--tls-cert")
        raise UsageError(f"{given} is set but {missing} is not: HTTPS needs both, plain HTTP neither.")
    return Loaded(settings, warnings)


def _merge(chosen: dict[str, Any], found: dict[str, Any], source: str) -> None:
    """Let one source win over those before it; `data_dir` and `in_memory` are two answers to one question."""
    if found.get("in_memory") and "data_dir" in found:
        raise UsageError(f"{source} asks for both in_memory and data_dir ({found['data_dir']}); keep one of them.")
    if "data_dir" in found:
        chosen["in_memory"] = False
    chosen.update(found)


def _read_file(path: str, by_key: Mapping[str, Option]) -> dict[str, Any]:
    """The options of a TOML file."""
    import tomllib

    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise UsageError(
            f"the settings file {path} cannot be read: {error.strerror}. Mend --config (or {CONFIG_VARIABLE})."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the settings file {path} is not TOML: {error}.") from None
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
    """The options among HASHRANGE_… variables; an empty variable counts as not set."""
    by_variable = {option.variable: option for option in by_key.values()}
    found = {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX) or variable == CONFIG_VARIABLE or not text:
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
    """The variable that was probably meant. What all of them begin with makes any two look alike, so it does not count."""
    told = hint(variable.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known])
    return told.replace("Did you mean ", f"Did you mean {PREFIX}")


def _parsed(option: Option, name: str, value: Any) -> Any:
    """The value of a flag or variable, which are text unless a flag stands for itself."""
    if not isinstance(value, str):
        return _checked(option, name, value)
    word = value.strip()
    try:
        if option.kind == "switch" and word.lower() in TRUE_WORDS | FALSE_WORDS:
            return word.lower() in TRUE_WORDS
        if option.kind in {"integer", "number"}:
            if not word.isascii() or "_" in word:  # Python reads ８０００ and 8_000 too
                raise _refusal(option, name, value)
            return _checked(option, name, int(word) if option.kind == "integer" else float(word))
    except ValueError:
        raise _refusal(option, name, value) from None
    return _checked(option, name, value)


def _checked(option: Option, name: str, value: Any) -> Any:
    """The value, once it is sure to be one that the option takes; words to choose from are understood in capitals too."""
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
    """A value to copy, where the words alone do not give one."""
    if option.kind == "integer":
        return f", such as {option.default}"
    return f", such as {option.default:g}" if option.kind == "number" else ""


def current_environment() -> Mapping[str, str]:
    """The process's environment."""
    return os.environ
