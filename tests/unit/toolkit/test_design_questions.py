"""Questions lead to a design, and a person may go back."""

from typing import Any

import pytest

from hashrange.toolkit.design_questions import DesignWish, InterviewDefaults, Question, StepBack, interview
from hashrange.toolkit.table_design import DesignedCapacity, DesignedIndex, DesignedKey, DesignedUnits, TableDesign

BACK = "←"


class Person:
    """Answers questions whose text begins with a word; all others with their default."""

    def __init__(self, **answers: list[str]) -> None:
        """`answers`: first word of a question, without what is no letter → its answers, in order; BACK goes back."""
        self.answers = answers
        self.asked: list[Question] = []
        self.shown: list[str] = []

    def ask(self, question: Question) -> str:
        self.asked.append(question)
        word = "".join(filter(str.isalpha, question.text.split()[0].lower()))
        left = self.answers.get(word, [])
        answer = left.pop(0) if left else question.default
        if answer == BACK:
            raise StepBack
        assert not question.choices or answer in question.choices
        assert question.choices or question.fault_of(answer) is None, (question.text, answer)
        return answer

    def wish(self, name: str = "", **given: Any) -> DesignWish:
        return interview(self.ask, self.shown.append, lambda path: None, InterviewDefaults(name, **given))


def test_defaults_make_a_table_with_a_partition_key() -> None:
    person = Person(partition=["id"])
    wish = person.wish("Orders")
    assert wish == DesignWish(TableDesign("Orders", DesignedKey("id")), "cloudformation", "orders.yaml", False)
    assert "AWS::DynamoDB::Table" in person.shown[0]
    assert all(question.help and len(question.help) <= 78 for question in person.asked)


def test_all_can_be_said() -> None:
    person = Person(
        name=["Orders", "by-place", "all-parts", "by-total"],
        partition=["customer", "country,city", "customer"],
        type=["string", "number"],
        sort=["created", "created", "", "total:N"],
        billing=["provisioned"],
        read=["5-100@60"],
        write=["7"],
        add=["yes", "yes", "no", "yes", "no"],
        projection=["include", "keys-only", "all"],
        attributes=["total,state"],
        attribute=["expires"],
        stream=["keys-only"],
        pointintime=["yes"],
        deletion=["yes"],
        table=["infrequent-access"],
        key=["aws-managed"],
        tags=["team=orders, stage=dev"],
        language=["json"],
        what=["print it, and create the table"],
    )
    wish = person.wish()
    created = DesignedKey("created", "N")
    capacity = DesignedCapacity(DesignedUnits(5, 100, 60), DesignedUnits(7))
    place = (DesignedKey("country"), DesignedKey("city"))
    assert wish.design == TableDesign(
        "Orders",
        DesignedKey("customer"),
        created,
        capacity,
        (
            DesignedIndex("by-place", place, (created,), "INCLUDE", ("total", "state"), capacity),
            DesignedIndex("all-parts", (DesignedKey("customer"),), (), "KEYS_ONLY", (), capacity),
        ),
        (DesignedIndex("by-total", (), (DesignedKey("total", "N"),)),),
        "expires",
        "KEYS_ONLY",
        35,
        True,
        "STANDARD_INFREQUENT_ACCESS",
        "AWS_MANAGED",
        (("team", "orders"), ("stage", "dev")),
    )
    assert wish[1:] == ("json", None, True)


def test_the_command_line_gives_defaults() -> None:
    wish = Person(partition=["id"]).wish("Orders", language="cdk", file="lib/orders.ts")
    assert wish[1:] == ("cdk", "lib/orders.ts", False)
    wish = Person(partition=["id"]).wish("Orders", language="json", is_created=True)
    assert wish[1:] == ("json", None, True)


def test_back_asks_the_last_question_again_with_its_answer() -> None:
    person = Person(partition=["id"], sort=["created"], type=["string", BACK], billing=["provisioned"])
    wish = person.wish("Orders")
    texts = [question.text for question in person.asked]
    assert texts[:6] == ["Name of the table", "Partition key", "Type of id", "Sort key", "Type of created", "Sort key"]
    assert person.asked[5].default == "created"
    assert wish.design.sort_key == DesignedKey("created")


def test_back_before_the_first_question_asks_it_again() -> None:
    person = Person(name=[BACK, "Orders"], partition=["id"])
    assert person.wish().design.name == "Orders"


def test_a_name_that_another_index_has_is_told_at_once() -> None:
    person = Person(name=["Orders", "by-a", "by-b"], partition=["id", "a", "b"], add=["yes", "yes", "no"])
    person.wish("Orders")
    first, second = (one for one in person.asked if one.text == "Name of the index")
    assert first.fault_of("by-a") is None
    assert second.fault_of("by-a") == "Another index has this name."


def test_what_dynamodb_does_not_take_is_told_and_asked_again() -> None:
    person = Person(partition=["id"], tags=["a=1,a=2", "a=1"])
    wish = person.wish("Orders")
    assert person.shown[0] == "two tags have the key a; each key may be given once."
    assert wish.design.tags == (("a", "1"),)


@pytest.mark.parametrize(
    ("text", "answer", "sentence"),
    [
        ("Name of the table", "x", "must have 3 to 255 characters."),
        ("Partition key", "", "must have 1 to 255 bytes of UTF-8."),
        ("Read units", "x", "it must be a number, such as 5, or a range of auto scaling, such as 5-100@60."),
        ("Partition key of the index", "", "This needs an answer."),
        ("Partition key of the index", "a:X", "the type must be S (string), N (number) or B (binary), as in a:S."),
        ("Partition key of the index", "a,b,c,d,e", "An index has at most 4 attributes in each key."),
        ("Partition key of the index", "a,a", "An attribute stands in a key once."),
        ("Partition key of the index", "a,,b", "An attribute must have 1 to 255 bytes of UTF-8."),
        ("Partition key of the index", "id:N", "id has another type in a key above: S."),
        ("Read units", "0", "the table needs at least 1 read unit."),
        ("Write units", "9-3", "the first must be less."),
        ("Tags", "x", "it must be KEY=VALUE."),
    ],
)
def test_a_wrong_answer_is_told_in_one_line(text: str, answer: str, sentence: str) -> None:
    person = Person(
        name=["Orders", "by-a"], partition=["id", "a"], billing=["provisioned"], add=["yes", "no"], sort=["", ""]
    )
    person.wish()
    question = next(one for one in person.asked if one.text == text)
    assert question.fault_of(answer) == sentence
    assert len(sentence) <= 79
