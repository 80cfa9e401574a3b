"""How is a question asked in a terminal? With questionary: its help stands below it, Esc goes back, Ctrl-C ends.

What is asked goes to the terminal, also if standard output is a file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from hashrange.messages.installing import how_to_install
from hashrange.terminal import escape_controls
from hashrange.toolkit.design_questions import Question, StepBack
from hashrange.toolkit.failures import ToolkitFailure

NEEDS_QUESTIONARY = "questions are asked by questionary, which is not installed. Install it: {install}."
STYLES = [
    ("qmark", "fg:ansicyan"),
    ("question", "bold"),
    ("answer", "fg:ansigreen"),
    ("instruction", "fg:ansibrightblack"),
]
GREETING = "Esc goes back to the question before, Ctrl-C ends without writing anything."


@contextmanager
def terminal() -> Iterator[None]:
    """Let questions of the `with` block go to the terminal. Raises ToolkitFailure without questionary."""
    if find_spec("questionary") is None:
        raise ToolkitFailure(NEEDS_QUESTIONARY.format(install=how_to_install("toolkit")))
    # Imported here: the libraries are in an extra.
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.output import create_output

    with create_app_session(output=create_output(always_prefer_tty=True)):
        yield


def ask_in_terminal(question: Question) -> str:
    """The answer. Raises StepBack, and KeyboardInterrupt after Ctrl-C, Ctrl-D or the end of the terminal."""
    # Imported here: the libraries are in an extra.
    import questionary
    from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings

    style = questionary.Style(STYLES)
    instruction = f"\n  {escape_controls(question.help)}"
    asked: Any
    if question.choices:
        asked = questionary.select(
            escape_controls(question.text),
            list(question.choices),
            default=question.default or None,
            instruction=instruction,
            style=style,
        )
    else:
        asked = questionary.text(
            escape_controls(question.text),
            default=question.default if question.default.isprintable() else "",
            validate=lambda text: escape_controls(question.fault_of(text) or "") or True,
            instruction=f"{instruction}\n ",
            style=style,
        )
        _select_all(asked.application.current_buffer)
    own = KeyBindings()

    @own.add("escape", eager=True)
    def go_back(event: Any) -> None:
        event.app.exit(exception=StepBack())

    application = asked.application
    application.key_bindings = merge_key_bindings([application.key_bindings, own])
    try:
        return str(asked.unsafe_ask()).strip()
    except EOFError:
        raise KeyboardInterrupt from None


def _select_all(buffer: Any) -> None:
    """Select a default, so that what is typed takes its place; a cursor key lets it be edited."""
    if buffer.text:
        buffer.cursor_position = 0
        buffer.start_selection()
        buffer.cursor_position = len(buffer.text)
        buffer.selection_state.enter_shift_mode()
