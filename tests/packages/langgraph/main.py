"""A graph whose state is kept between its steps: `main.py run` runs it, `main.py resume` goes on in another process."""

# mypy: disable-error-code="import-not-found"

import json
import operator
import sys
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langgraph_checkpoint_aws import DynamoDBSaver

DAY_SECONDS = 86_400
CONFIG = {"configurable": {"thread_id": "session-1"}}


class Order(TypedDict):
    """State of an order: what has been done with it."""

    done: Annotated[list[str], operator.add]


def approve(state: Order) -> dict[str, Any]:
    """Wait for a person's answer."""
    return {"done": [f"approved by {interrupt('May it be sent?')}"]}


checkpointer = DynamoDBSaver(table_name="my-checkpoints", ttl_seconds=DAY_SECONDS * 7)
builder = StateGraph(Order)
builder.add_node("check", lambda state: {"done": ["checked"]})
builder.add_node("approve", approve)
builder.add_node("send", lambda state: {"done": ["sent"]})
builder.add_edge(START, "check")
builder.add_edge("check", "approve")
builder.add_edge("approve", "send")
builder.add_edge("send", END)
graph = builder.compile(checkpointer=checkpointer)

if sys.argv[1] == "run":
    graph.invoke({"done": ["ordered"]}, CONFIG)
elif sys.argv[1] == "resume":
    graph.invoke(Command(resume="ada"), CONFIG)
elif sys.argv[1] == "delete":
    checkpointer.delete_thread("session-1")
state = graph.get_state(CONFIG)
history = [sorted(one.next) for one in graph.get_state_history(CONFIG)]
print(json.dumps({"state": state.values, "next": list(state.next), "history": history}))
