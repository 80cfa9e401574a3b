"""`hashrange completion SHELL`: which script lets a shell complete commands, flags and their values?
Made from the parsers, so it knows what they know.

The script needs no Python when it completes.
"""

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Literal, NamedTuple

from hashrange.cli.main import COMMANDS, DONE
from hashrange.cli.output import lines_of, say_unfolded
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse

EXAMPLE = """example:
  hashrange completion bash \\
    > ~/.local/share/bash-completion/completions/hashrange
  source <(hashrange completion bash)  # to try it at once

For zsh, put the script into a file _hashrange in a folder of $fpath; for fish, into \
~/.config/fish/completions/hashrange.fish.
"""
SHELLS = ("bash", "zsh", "fish")
FOLDERS, FILES = {"DIR", "SOURCE", "TARGET"}, {"FILE"}
"""What the parsers call values that are names of folders and files."""

ValueKind = Literal["none", "words", "folder", "file", "other"]


class Word(NamedTuple):
    """A flag of a command, or its positional argument, whose `flag` is empty."""

    flag: str
    help: str
    kind: ValueKind
    """What comes behind the flag."""
    choices: tuple[str, ...] = ()


def run(words: list[str]) -> int:
    """Print the script of one shell; returns the exit code. Raises UsageError."""
    shell = parse(build_parser(), words).shell
    if shell not in SHELLS:
        raise UsageError(f"there is no completion for {shell}; there is one for {', '.join(SHELLS)}.")
    known = {name: list(_words_of(name)) for name in COMMANDS}
    say_unfolded(*lines_of({"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[shell](known)))
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange completion`."""
    parser = command_parser(
        "completion", "Print a script that lets a shell complete hashrange's commands and flags.", EXAMPLE
    )
    parser.add_argument("shell", metavar="|".join(SHELLS), help="The shell.")
    return parser


def _words_of(command: str) -> Iterator[Word]:
    parser: CommandParser = import_module(f"hashrange.cli.{command}").build_parser()
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        told = (action.help or "").partition(". ")[0].replace("%%", "%")
        for flag in action.option_strings or [""]:
            if flag and not flag.startswith("--"):
                continue
            yield Word(flag, told, *_value_of(action, flag))


def _value_of(action: argparse.Action, flag: str) -> tuple[ValueKind, tuple[str, ...]]:
    if flag and action.nargs == 0:
        return "none", ()
    metavar = str(action.metavar or "")
    if "|" in metavar or metavar.islower():
        return "words", tuple(word for word in metavar.split("|") if word.islower())
    if metavar in FOLDERS:
        return "folder", ()
    return ("file" if metavar in FILES else "other"), ()


Known = dict[str, list[Word]]


def _cases(known: Known, words: str, folders: str, files: str) -> str:
    """The branches of a `case` over command and word before; the arguments complete from words, folders and files."""
    by_kind = {"folder": folders, "file": files, "other": ":"}

    def completing(word: Word) -> str:
        return words.format(" ".join(word.choices)) if word.kind == "words" else by_kind[word.kind]

    def completing_arguments(arguments: list[Word]) -> str:
        """Those behind words that are typed already: behind `export` comes the folder."""
        first, *others = arguments
        if first.kind != "words" or not others:
            return completing(first)
        typed = "|".join(f'*" {choice} "*' for choice in first.choices)
        return f'case "$typed" in {typed}) {completing_arguments(others)} ;; *) {completing(first)} ;; esac'

    lines = []
    for command, all_words in known.items():
        valued = [word for word in all_words if word.flag and word.kind != "none"]
        lines += [f'    "{command} {word.flag}") {completing(word)} ;;' for word in valued]
        flags = words.format(" ".join(word.flag for word in all_words if word.flag))
        arguments = [word for word in all_words if not word.flag]
        if not arguments or arguments[0].kind == "other":
            lines.append(f'    "{command} "*) {flags} ;;')
        else:
            told = completing_arguments(arguments)
            lines.append(f'    "{command} "*) case "$word" in -*) {flags} ;; *) {told} ;; esac ;;')
    return "\n".join(lines)


def bash_script(known: Known) -> str:
    """The script of bash."""
    reply = 'COMPREPLY=($(compgen {} -- "$word"))'
    paths = f"compopt -o filenames 2>/dev/null; local IFS=$'\\n'; {reply}"
    cases = _cases(known, reply.format('-W "{}"'), paths.format("-d"), paths.format("-f"))
    return f"""# bash completion of hashrange
_hashrange() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local typed=" ${{COMP_WORDS[*]:0:COMP_CWORD}} "
  COMPREPLY=()
  # Bash takes --flag=value apart into three words.
  if [ "$word" = "=" ]; then word=""; elif [ "$before" = "=" ]; then before="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(known)} --help --version" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}} $before" in
{cases}
  esac
}}
complete -F _hashrange hashrange
"""


def zsh_script(known: Known) -> str:
    """The script of zsh."""
    cases = _cases(known, "compadd -- {}", "_files -/", "_files")
    return f"""#compdef hashrange
_hashrange() {{
  local word="${{words[CURRENT]}}" before="${{words[CURRENT-1]}}" typed=" ${{words[1,CURRENT-1]}} "
  if (( CURRENT == 2 )); then
    compadd -- {" ".join(known)} --help --version
    return
  fi
  case "${{words[2]}} $before" in
{cases}
  esac
}}
if [ "$funcstack[1]" = "_hashrange" ]; then _hashrange "$@"; else compdef _hashrange hashrange; fi
"""


def fish_script(known: Known) -> str:
    """The script of fish."""
    lines = ["# fish completion of hashrange", "complete -c hashrange -f"]
    for command, words in known.items():
        lines.append(f"complete -c hashrange -n __fish_use_subcommand -a {command} -d {_quoted(COMMANDS[command])}")
        seen = place = f"__fish_seen_subcommand_from {command}"
        for word in words:
            takes = {
                "none": "",
                "words": f" -x -a {_quoted(' '.join(word.choices))}",
                "folder": " -x -a '(__fish_complete_directories)'",
                "file": " -r -F",
                "other": " -x",
            }
            behind = takes[word.kind]
            if word.flag:
                flag = f" -l {word.flag.removeprefix('--')}{behind} -d {_quoted(word.help)}"
                lines.append(f"complete -c hashrange -n '{seen}'{flag}")
            elif word.kind != "other":
                offered = behind.replace(" -x", "").replace(" -r", "")
                typed = f"__fish_seen_subcommand_from {' '.join(word.choices)}"
                untyped = f"; and not {typed}" if word.choices else ""
                lines.append(f"complete -c hashrange -n '{place}{untyped}'{offered}")
                place += f"; and {typed}" if word.choices else ""
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Text in single quotes, as fish reads it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
