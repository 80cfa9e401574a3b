"""`hashrange design` at the prompt: what it prints, writes, creates and refuses. (Its languages: tests/clients.)"""

import json
import os
import shlex
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import boto3
import pytest

from hashrange.cli.main import DONE, FAILED, INTERRUPTED, WRONG_USE, main
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.target import Target

pytestmark = pytest.mark.usefixtures("no_variables")

Printed = pytest.CaptureFixture[str]
ORDERS = ["design", "Orders", "--partition-key", "customer"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--output", "yaml"], '--output is "yaml"; it must be cloudformation, cdk, terraform or json.'),
        (["Orders"], "there is no terminal to ask in: give TABLE and --partition-key, or --from."),
        (["Orders", "--non-interactive"], "--non-interactive needs TABLE and --partition-key, or --from."),
        (["Orders", "--gsi", "a=b"], "--gsi needs --partition-key; without any of these options, questions are asked."),
        (["--partition-key", "a"], "the design needs TABLE, the table's name: hashrange design TABLE --partition-key"),
        (["--from", "Orders", "--ttl", "t"], "--from reads the whole design of a table; leave out --ttl."),
        ([*ORDERS[1:], "--sort-key", "a:X"], '--sort-key is "a:X"; the type must be S (string), N (number) or B'),
        (
            [*ORDERS[1:], "--gsi", "status"],
            '--gsi is "status"; it must look like by-status=status/created:N/keys-only.',
        ),
        ([*ORDERS[1:], "--gsi", "by-status="], '--gsi is "by-status="; a global secondary index needs a partition key'),
        ([*ORDERS[1:], "--gsi", "by-a=a//some"], '--gsi projects "some"; it must be all, keys-only, or include:'),
        ([*ORDERS[1:], "--lsi", "by-a=a/b/all"], '--lsi is "by-a=a/b/all"; it must look like by-date=created:N/keys-'),
        ([*ORDERS[1:], "--read", "many"], '--read is "many"; it must be a number, such as 5, or a range'),
        (
            [*ORDERS[1:], "--read", "5", "--billing", "on-demand"],
            "--read is for --billing provisioned; on demand, there",
        ),
        ([*ORDERS[1:], "--billing", "free"], '--billing is "free"; it must be on-demand or provisioned.'),
        ([*ORDERS[1:], "--stream", "all"], '--stream is "all"; it must be keys-only, new-image, old-image or new-and-'),
        ([*ORDERS[1:], "--table-class", "x"], '--table-class is "x"; it must be standard or infrequent-access.'),
        ([*ORDERS[1:], "--encryption", "x"], '--encryption is "x"; it must be aws-owned, aws-managed, or the ARN of'),
        ([*ORDERS[1:], "--tag", "x"], '--tag is "x"; it must be KEY=VALUE.'),
        ([*ORDERS[1:], "--recovery-days", "40"], "point-in-time recovery reaches 1 to 35 days back, not 40."),
        ([*ORDERS[1:], "--recovery-days", "5-9"], '--recovery-days is "5-9"; it must be a number of days, such as 35.'),
        ([*ORDERS[1:], "--lsi", "by-a=a"], "a local secondary index needs a table with a sort key"),
        ([*ORDERS[1:], "--tag", "a=\udcff"], "the tag 'a' holds bytes that are no UTF-8."),
        (
            [*ORDERS[1:], "--gsi", "by-a=a/b/include:\udcff"],
            "the attribute '\\udcff' that the index by-a includes holds bytes that are no UTF-8.",
        ),
        ([*ORDERS[1:], "--file", ""], "--file needs the name of a file."),
        (["--from", ""], "--from needs the name of a table."),
        ([*ORDERS[1:], "--file", "no/where.yaml"], "the file no/where.yaml is in a folder that does not exist."),
        (["Orders", "--template"], "--template is the same for every table; leave out TABLE, and set its parameters"),
        (["--template", "--output", "cdk"], "--template is the same for every table; leave out --output cdk, and"),
        (["--template", "--apply"], "--template is the same for every table; leave out --apply, and set"),
        ([*ORDERS[1:], "--apply", "--aws"], "no Region is named. Name one with --region"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(words: list[str], sentence: str, capsys: Printed) -> None:
    assert main(["design", *words]) == WRONG_USE
    error = capsys.readouterr().err
    assert error.startswith(f"hashrange: {sentence}")
    assert error.count("\n") == 1


def test_a_wrong_endpoint_is_told_before_anything_is_written(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "orders.yaml"
    assert main([*ORDERS, "--file", str(path), "--apply", "--endpoint", "nowhere"]) == WRONG_USE
    assert '--endpoint is "nowhere"' in capsys.readouterr().err
    assert not path.exists()


def test_a_file_that_is_there_stays(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "orders.yaml"
    assert main([*ORDERS, "--file", str(path)]) == DONE
    text = path.read_text(encoding="utf-8")
    assert capsys.readouterr() == ("", f"The design is in {path}.\n")
    assert main([*ORDERS, "--file", str(path), "--ttl", "expires"]) == WRONG_USE
    assert path.read_text(encoding="utf-8") == text
    assert "exists already. Name another one." in capsys.readouterr().err


def test_apply_says_where_and_creates_the_table(endpoint: str, capsys: Printed) -> None:
    words = [*ORDERS, "--ttl", "expires", "--endpoint", endpoint, "--region", "eu-west-2", "--apply"]
    assert main([*words, "--output", "json"]) == DONE
    printed = capsys.readouterr()
    assert json.loads(printed.out)["TableName"] == "Orders"
    assert printed.err.splitlines() == [
        f"Create the table Orders: account 000000000000, Region eu-west-2, endpoint {endpoint}.",
        "table Orders: created; customer; on demand (CreateTable)",
        "table Orders: time to live by expires on (UpdateTimeToLive)",
        "The table Orders is active.",
    ]
    keys = {"aws_access_key_id": "hashrange", "aws_secret_access_key": "hashrange"}
    dynamodb = boto3.client("dynamodb", endpoint_url=endpoint, region_name="eu-west-2", **keys)
    assert dynamodb.describe_time_to_live(TableName="Orders")["TimeToLiveDescription"]["AttributeName"] == "expires"
    assert main(words) == FAILED
    assert "refused CreateTable: ResourceInUseException" in capsys.readouterr().err


class Refusing:
    """Lets requests for one operation fail with these errors, one after the other."""

    def __init__(self, operation: str, errors: list[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
        ask = Target.ask

        def refused(target: Target, service: str, asked: str, /, **members: Any) -> Any:
            if asked == operation and errors:
                raise errors.pop(0)
            return ask(target, service, asked, **members)

        monkeypatch.setattr(Target, "ask", refused)


@pytest.mark.parametrize(
    ("error", "code"), [(ToolkitFailure("it was refused.", "X"), FAILED), (KeyboardInterrupt(), INTERRUPTED)]
)
def test_what_is_left_of_a_creation_is_told(
    error: BaseException, code: int, endpoint: str, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    Refusing("update_continuous_backups", [error], monkeypatch)
    words = ["design", f"Left{code}", "--partition-key", "a", "--ttl", "t", "--recovery-days", "7", "--apply"]
    assert main([*words, "--endpoint", endpoint]) == code
    *_, begun, created, left = capsys.readouterr().err.removesuffix("hashrange: it was refused.\n").splitlines()
    assert begun == f"table Left{code}: point-in-time recovery on, 7 days (UpdateContinuousBackups)"
    assert created == f"The table Left{code} has been created."
    assert left.startswith("This has not been done. Once the table is active: aws dynamodb update-continuous-backups ")


def test_a_creation_that_is_refused_leaves_nothing_to_do(endpoint: str, capsys: Printed) -> None:
    words = ["design", "Twice", "--partition-key", "a", "--ttl", "t", "--endpoint", endpoint, "--apply"]
    assert main(words) == DONE
    capsys.readouterr()
    assert main(words) == FAILED
    assert "This has not been done" not in capsys.readouterr().err


def test_recovery_of_a_new_table_is_asked_for_again(
    endpoint: str, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [ToolkitFailure("not yet", "ContinuousBackupsUnavailableException") for _ in range(2)]
    Refusing("update_continuous_backups", [*errors], monkeypatch)
    words = ["design", "Recovered", "--partition-key", "a", "--recovery-days", "7", "--endpoint", endpoint, "--apply"]
    assert main(words) == DONE
    assert "The table Recovered is active." in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such limit there")
def test_a_file_that_cannot_be_written_to_the_end_is_not_left(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "hashrange", *ORDERS, "--file", "orders.yaml"]
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 0; exec {shlex.join(words)}"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == WRONG_USE
    assert done.stderr == "hashrange: the file orders.yaml cannot be written: File too large. Name another one.\n"
    assert not list(tmp_path.iterdir())


def test_from_a_table_that_is_not_there(endpoint: str, capsys: Printed) -> None:
    assert main(["design", "--from", "Nothing", "--endpoint", endpoint]) == FAILED
    assert "there is no table Nothing in us-east-1 at" in capsys.readouterr().err


def test_from_a_table_under_another_name(endpoint: str, capsys: Printed) -> None:
    assert main([*ORDERS, "--endpoint", endpoint, "--apply"]) == DONE
    capsys.readouterr()
    assert main(["design", "Copy", "--from", "Orders", "--endpoint", endpoint, "--output", "json"]) == DONE
    printed = capsys.readouterr()
    assert json.loads(printed.out)["TableName"] == "Copy"
    assert not printed.err


# --- in a terminal ------------------------------------------------------------------------------------


class Typing:
    """`hashrange design` in a terminal of its own, in which somebody types. Standard output may be a file."""

    def __init__(self, folder: Path, output: Path | None = None) -> None:
        import pty

        self.ours, theirs = pty.openpty()
        variables = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80"}
        with nullcontext(theirs) if output is None else output.open("wb") as standard_output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hashrange", "design", "Orders"],
                cwd=folder, stdin=theirs, stdout=standard_output, stderr=theirs, env=variables, start_new_session=True,
            )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def answer(self, question: str, keys: str = "\r") -> None:
        """Wait until the program shows a question, behind what it has shown before, and type."""
        while question not in self.shown:
            read = os.read(self.ours, 65_536).decode(errors="replace")
            if "\x1b[6n" in read:
                os.write(self.ours, b"\x1b[1;1R")  # where the cursor is
            self.shown += read
        self.shown = self.shown.partition(question)[2]
        os.write(self.ours, keys.encode())

    def exit_code(self) -> int:
        """Read to the end; returns the exit code."""
        try:
            while os.read(self.ours, 65_536):
                pass
        except OSError:  # the end of a terminal, on Linux
            pass
        os.close(self.ours)
        return self.process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Windows are opened otherwise")
def test_questions_in_a_terminal_lead_to_a_file(tmp_path: Path) -> None:
    typing = Typing(tmp_path)
    typing.answer("Name of the table")
    typing.answer("Partition key", "customer\r")
    typing.answer("Type of customer", "\x1b")  # goes back
    typing.answer("Partition key", "\b" * 8 + "id\r")
    typing.answer("Type of id", "\x1b[B\r")  # one down
    typing.answer("Sort key")
    typing.answer("Billing", "\x1b[B\r")
    typing.answer("Read units", "7\r")  # what is typed takes the place of the default
    for question in (
        "Write units", "Add a global", "Attribute of time", "Stream", "Point-in-time", "Deletion",
        "Table class",
        "Key of the encryption", "Tags", "Language", "What becomes of it", "Name of the file",
    ):  # fmt: skip
        typing.answer(question)
    assert typing.exit_code() == DONE
    text = (tmp_path / "orders.yaml").read_text(encoding="utf-8")
    assert "- AttributeName: id\n          AttributeType: N\n" in text
    assert "ReadCapacityUnits: 7\n        WriteCapacityUnits: 5\n" in text


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Windows are opened otherwise")
@pytest.mark.parametrize("keys", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_ctrl_c_ends_the_questions_and_standard_output_holds_none_of_them(keys: str, tmp_path: Path) -> None:
    typing = Typing(tmp_path, tmp_path / "output")
    typing.answer("Name of the table", "\b" * len("Orders") + keys)
    assert typing.exit_code() == INTERRUPTED
    assert [path.name for path in tmp_path.iterdir()] == ["output"]
    assert not (tmp_path / "output").read_bytes()
