"""Which questions lead to a design? They are asked one after the other, each with a help, and a person may go back.

The questions are one plain function. Going back takes the last answer away and runs the function again: it gets the
earlier answers without asking, and asks the last question with the former answer as its default.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hashrange.toolkit import design_texts as texts
from hashrange.toolkit.design_languages import LANGUAGES, write_design
from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.table_design import (
    AWS_OWNED,
    KEYS_OF_INDEX_MAX,
    LETTERS,
    RECOVERY_DAYS_MAX,
    DesignedCapacity,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    TableDesign,
    attribute_fault,
    name_fault,
    units_faults,
)

NO, YES = "no", "yes"
NOWHERE, TO_FILE, TO_ENDPOINT = "print it", "write it to a file", "print it, and create the table"
TYPES = {"string": "S", "number": "N", "binary": "B"}
NOTHING = "none"
NAME_HELP = "3 to 255 letters, digits, underscores, dots and hyphens."


FindFault = Callable[[str], str | None]
"""What is wrong with an answer; None: nothing."""


class Question(NamedTuple):
    """One question."""

    text: str
    help: str
    choices: tuple[str, ...] = ()
    """The answers among which a person chooses; empty: free text."""
    default: str = ""
    fault_of: FindFault = lambda _: None
    """For free text."""


Ask = Callable[[Question], str]


class StepBack(Exception):
    """The person wants to answer the question before this one again."""


class DesignWish(NamedTuple):
    """What a person has answered."""

    design: TableDesign
    language: str
    file: str | None
    """None: the text is printed."""
    is_created: bool
    """True if the table is created at the endpoint."""


class InterviewDefaults(NamedTuple):
    """What the command line says before anything is asked."""

    name: str = ""
    language: str = "cloudformation"
    file: str | None = None
    is_created: bool = False


def interview(ask: Ask, show: Callable[[str], None], file_fault: FindFault, given: InterviewDefaults) -> DesignWish:
    """The wish of a person. `ask` raises StepBack. `show` shows what the design has become, before its use is asked, or
    why DynamoDB does not take it. `file_fault`: why a file cannot be written. Raises ToolkitFailure.
    """
    answers: list[str] = []
    forgotten: list[str] = []
    while True:
        known = iter(tuple(answers))

        def replay(question: Question, known: Iterator[str] = known) -> str:
            answer = next(known, None)
            if answer is not None:
                return answer
            if forgotten:
                former = forgotten.pop()
                if not question.choices or former in question.choices:
                    question = question._replace(default=former)
            answer = ask(question)
            answers.append(answer)
            return answer

        try:
            return _questions(replay, show, file_fault, given)
        except StepBack:
            pass
        except UsageFault as fault:
            show(str(fault))
        forgotten[:] = [answers.pop()] if answers else []


def _questions(ask: Ask, show: Callable[[str], None], file_fault: FindFault, given: InterviewDefaults) -> DesignWish:
    """All questions, in their order."""
    letters: texts.Letters = {}
    table = ask(Question("Name of the table", NAME_HELP, (), given.name, name_fault))
    hint = "Items with the same value lie together; many values spread the load."
    partition_key = _key(ask, letters, Question("Partition key", hint, (), "", attribute_fault))
    hint = "Orders the items of one partition key. Leave it empty for none."
    question = Question("Sort key", hint, (), "", lambda one: attribute_fault(one) if one else None)
    sort_key = _key(ask, letters, question)
    assert partition_key is not None, "an empty name is a fault"
    capacity = _capacity(ask)
    global_indexes = tuple(_indexes(ask, letters, capacity, partition_key, is_global=True))
    local_indexes = () if sort_key is None else tuple(_indexes(ask, letters, None, partition_key, is_global=False))
    design = TableDesign(table, partition_key, sort_key, capacity, global_indexes, local_indexes)
    design = _others(ask, design)
    fault = design.first_fault()
    if fault is not None:
        raise UsageFault(fault)
    help_text = "What your infrastructure is written in; json is a request of the API."
    chosen = ask(Question("Language", help_text, tuple(LANGUAGES), given.language))
    show(write_design(design, chosen))
    help_text, usual = "Nothing has been written or created yet.", TO_ENDPOINT if given.is_created else TO_FILE
    deed = ask(Question("What becomes of it", help_text, (TO_FILE, NOWHERE, TO_ENDPOINT), usual))
    file = None
    if deed == TO_FILE:
        usual = given.file or f"{table.lower()}{LANGUAGES[chosen].file_ending}"
        file = ask(Question("Name of the file", "A file that is there is not replaced.", (), usual, file_fault))
    return DesignWish(design, chosen, file, deed == TO_ENDPOINT)


def _key(ask: Ask, letters: texts.Letters, question: Question) -> DesignedKey | None:
    """A key of the table, with its type; None for an empty name."""
    name = ask(question)
    if not name:
        return None
    help_text = "Numbers are ordered by value, strings and binary by bytes."
    word = ask(Question(f"Type of {name}", help_text, tuple(TYPES), "string"))
    return DesignedKey(name, letters.setdefault(name, LETTERS[TYPES[word]]))


def _capacity(ask: Ask) -> DesignedCapacity | None:
    """The units; None: on demand."""
    help_text = "on-demand: each request is paid. provisioned: units are paid by the hour."
    if ask(Question("Billing", help_text, ("on-demand", "provisioned"), "on-demand")) == "on-demand":
        return None
    help_text = "A number, such as 5, or the range of auto scaling and its target: 5-100@70."

    def units_of(word: str) -> DesignedUnits:
        def required(text: str, source: str) -> None:
            for fault in units_faults("the table", word.lower(), texts.read_units_word(text, source)):
                raise UsageFault(fault)

        return texts.read_units_word(
            ask(Question(f"{word} units", help_text, (), "5-100@70", _reading(required))), word
        )

    return DesignedCapacity(units_of("Read"), units_of("Write"))


def _indexes(
    ask: Ask, letters: texts.Letters, capacity: DesignedCapacity | None, own: DesignedKey, *, is_global: bool
) -> Iterator[DesignedIndex]:
    """Indexes, until a person wants no more."""
    kind = "global" if is_global else "local"
    help_text = (
        "For queries by other attributes than the table's key. It can be added later."
        if is_global
        else f"For queries of one {own.name} in another order. It can only be made with the table."
    )
    known: list[str] = []
    while True:
        so_far = f" (there is {', '.join(known)})" if known else ""
        if ask(Question(f"Add a {kind} secondary index{so_far}?", help_text, (NO, YES), NO)) == NO:
            return
        index = _index(ask, letters, tuple(known), is_global=is_global)
        known.append(index.name)
        yield index._replace(capacity=capacity)


def _index(ask: Ask, letters: texts.Letters, known: tuple[str, ...], *, is_global: bool) -> DesignedIndex:
    """One index. `known`: names of those before."""

    def free_name(text: str) -> str | None:
        return "Another index has this name." if text in known else name_fault(text)

    def required(text: str) -> str | None:
        return _empty_fault(text) or optional(text)

    optional = _reading(lambda text, source: _require_key(texts.read_key_words(text, source, dict(letters)), letters))
    several = "Up to 4 attributes, as in country,city. A number is NAME:N, binary NAME:B."
    name = ask(Question("Name of the index", NAME_HELP, (), "", free_name))
    partition_keys: tuple[DesignedKey, ...] = ()
    if is_global:
        answer = ask(Question("Partition key of the index", several, (), "", required))
        partition_keys = texts.read_key_words(answer, "the key", letters)
        sort_key = Question("Sort key of the index", "As before. Leave it empty for none.", (), "", optional)
    else:
        sort_key = Question("Sort key of the index", "An attribute; :N stands behind a number.", (), "", required)
    sort_keys = texts.read_key_words(ask(sort_key), "the key", letters)
    help_text = "Attributes that the index holds beside keys. Fewer cost less."
    word = ask(Question("Projection", help_text, ("all", "keys-only", "include"), "all"))
    if word == "include":
        names = ask(Question("Attributes to include", "Their names, with commas between.", (), "", _empty_fault))
        word = f"{texts.INCLUDE}{names}"
    projection, included = texts.read_projection_word(word, "the index")
    return DesignedIndex(name, partition_keys, sort_keys, projection, included)


def _require_key(keys: tuple[DesignedKey, ...], letters: texts.Letters) -> None:
    """Raise UsageFault for attributes that are no key of an index."""
    if len(keys) > KEYS_OF_INDEX_MAX:
        raise UsageFault(f"An index has at most {KEYS_OF_INDEX_MAX} attributes in each key.")
    if len({key.name for key in keys}) < len(keys):
        raise UsageFault("An attribute stands in a key once.")
    for key in keys:
        if (fault := attribute_fault(key.name)) is not None:
            raise UsageFault(f"An attribute {fault}")
        if letters.get(key.name, key.letter) != key.letter:
            raise UsageFault(f"{key.name} has another type in a key above: {letters[key.name]}.")


def _others(ask: Ask, design: TableDesign) -> TableDesign:
    """The design with what is beside keys, units and indexes."""
    help_text = "Attribute with the second since 1970 when an item expires. Empty for none."
    ttl = ask(
        Question("Attribute of time to live", help_text, (), "", lambda one: attribute_fault(one) if one else None)
    )
    help_text = "What readers of changes see; new-and-old-images: the item before and after."
    stream = ask(Question("Stream", help_text, (NOTHING, *texts.STREAM_VIEWS), NOTHING))
    recovery = ask(
        Question(
            "Point-in-time recovery?",
            "Restores the table to any second of the last 35 days. It has a price.",
            (NO, YES),
            NO,
        )
    )
    protection = ask(
        Question("Deletion protection?", "The table cannot be deleted before this is turned off.", (NO, YES), NO)
    )
    help_text = "infrequent-access: cheaper storage, dearer requests."
    table_class = ask(Question("Table class", help_text, tuple(texts.TABLE_CLASSES), "standard"))
    help_text = "aws-owned costs nothing. aws-managed and own keys are in your account's KMS."
    encryption = ask(Question("Key of the encryption", help_text, (*texts.ENCRYPTIONS, "own key"), "aws-owned"))
    if encryption == "own key":
        encryption = ask(Question("ARN of the key", "arn:aws:kms:…", (), "", _reading(texts.read_encryption)))
    tags = ask(Question("Tags", "KEY=VALUE, with commas between. Leave it empty for none.", (), "", _reading(_tags)))
    return design._replace(
        ttl_attribute=ttl or None,
        stream_view=texts.STREAM_VIEWS.get(stream),
        recovery_days=RECOVERY_DAYS_MAX if recovery == YES else None,
        is_deletion_protected=protection == YES,
        table_class=texts.TABLE_CLASSES[table_class],
        encryption=texts.ENCRYPTIONS.get(encryption, encryption or AWS_OWNED),
        tags=_tags(tags, "the tag"),
    )


def _tags(text: str, source: str) -> tuple[tuple[str, str], ...]:
    return tuple(texts.read_tag_word(one, source) for one in text.split(",")) if text.strip() else ()


def _empty_fault(text: str) -> str | None:
    return None if text.strip() else "This needs an answer."


def _reading(read: Callable[[str, str], object]) -> FindFault:
    """A check that finds a fault if `read` does."""

    def fault_of(text: str) -> str | None:
        try:
            read(text, "The answer")
        except UsageFault as fault:
            return str(fault).rpartition("; ")[2]  # the answer stands above
        return None

    return fault_of
