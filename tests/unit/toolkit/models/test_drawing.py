"""The drawn page holds each item where the service would have it, escapes all texts, and needs nothing else."""

from html.parser import HTMLParser

import pytest

from hashrange.toolkit.models.document import SchemaDocument
from hashrange.toolkit.models.drawing import draw_model, request_text
from hashrange.toolkit.models.lint import find
from hashrange.toolkit.models.running import run_model
from hashrange.toolkit.prices import read_prices
from hashrange.toolkit.target import Target
from tests.unit.toolkit.models.documents import NOTES, SHOP, changed, read

HOSTILE = '<script>alert("1")</script>&amp;$title'


class Page(HTMLParser):
    """The cells of a page's tables, and all its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def drawn(target: Target, document: SchemaDocument) -> tuple[str, Page]:
    run = run_model(target, document, is_kept=False, waits=False)
    text = draw_model(document, run, find(document, run), read_prices("2024-10", None))
    page = Page(text)
    assert page.open == []
    return text, page


def test_items_are_drawn_in_their_collections(target: Target) -> None:
    _, page = drawn(target, read(SHOP))
    first = page.rows.index(["PK", "SK", "attributes"])
    assert [row[:2] for row in page.rows[first + 1 : first + 4]] == [
        ["CUSTOMER#ann", "ORDER#2026-11-01"],
        ["ORDER#2026-11-02", page.rows[first + 2][1]],
        ["PROFILE", page.rows[first + 3][1]],
    ]
    index = page.rows.index(["GSI1PK", "GSI1SK", "attributes"])
    done, is_open = page.rows[index + 1 :]
    assert (done[:2], is_open[:2]) == (["STATUS#done#a", "2026-11-02"], ["STATUS#open#a", "2026-11-01"])
    assert sorted(done[2].split()) == sorted(["total", "30", "PK", "CUSTOMER#ann", "SK", "ORDER#2026-11-02"])


def test_patterns_stand_with_what_they_found(target: Target) -> None:
    changes = {"accessPatterns/1/sample/itemCount": 4}
    refused = {
        "name": "refused",
        "isConsistent": True,
        "sample": SHOP["accessPatterns"][2]["sample"] | {"itemCount": 0},
    }
    patterns = {"accessPatterns/+": SHOP["accessPatterns"][2] | refused, "accessPatterns/0/sample": None}
    _, page = drawn(target, read(changed(changes | patterns)))
    rows = {row[1]: row for row in page.rows if len(row) == 7}
    assert rows["customer"][-2:] == ["1, not 4", "0.5"]
    assert rows["refused"][-2:] == ["refused", "0"]
    assert rows["customerWithOrders"][-2:] == ["not run", ""]
    assert rows["ordersOfStatus"][3:] == [
        "Shop · GSI1", 'Query GSI1PK = "STATUS#{status}#{shop}" and GSI1SK begins with "{month}"', "1", "0.5",
    ]  # fmt: skip


def test_numbers_are_ordered_by_value_and_vectors_counted(target: Target) -> None:
    text, page = drawn(target, read(NOTES))
    first = page.rows.index(["country", "number", "attributes"])
    assert [row[-2] for row in page.rows[first + 1 : first + 3]] == ["9", "10"]
    assert "3 vectors of 2 dimensions in embedding, compared by COSINE." in text


def test_texts_are_escaped_and_nothing_is_loaded(target: Target) -> None:
    hostile = {
        "name": HOSTILE,
        "description": HOSTILE,
        "entities/0/name": HOSTILE,
        "entities/0/description": HOSTILE,
        "entities/0/samples/0/name": HOSTILE,
        "accessPatterns/0/entities": [HOSTILE, "Order"],
        "accessPatterns/1/entities": [HOSTILE],
        "accessPatterns/1/name": HOSTILE,
        "accessPatterns/1/question": HOSTILE,
        "accessPatterns/1/sample/itemCount": 9,
    }
    text, page = drawn(target, read(changed(hostile)))
    assert "<script" not in text
    assert {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "base"} == set()
    assert not [found for _, found in page.tags if {"src", "href", "srcset"} & found.keys()]
    assert "url(" not in text
    assert "@import" not in text
    assert any(row[1] == HOSTILE for row in page.rows if len(row) == 7)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, 'Query PK = "CUSTOMER#{customer}"'),
        (1, 'GetItem PK = "CUSTOMER#{customer}" and SK = "PROFILE"'),
    ],
)
def test_requests_are_told_in_short(number: int, text: str) -> None:
    document = read(SHOP)
    assert request_text(document.tables[0], document.access_patterns[number]) == text
