"""How does a question look in a terminal? Only questions that quote what a person gave are tested here."""

import io

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.plain_text import PlainTextOutput

from hashrange.toolkit.design_questions import Question
from hashrange.toolkit.prompting import ask_in_terminal


def test_a_question_commands_no_terminal() -> None:
    shown = io.StringIO()
    question = Question("The key of a\u202eb\x9b31m?", "Not c\u202ed.", default="e\u202ef")
    with create_pipe_input() as keys, create_app_session(input=keys, output=PlainTextOutput(shown)):
        keys.send_text("pk\r")
        assert ask_in_terminal(question) == "pk"
    assert "The key of a\\u202eb\\x9b31m?" in shown.getvalue()
    assert not {"\u202e", "\x9b"} & set(shown.getvalue())
