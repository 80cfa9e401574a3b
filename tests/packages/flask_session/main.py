"""A Flask application whose sessions are in DynamoDB: `main.py set` sets a value, `main.py get COOKIE` gets it."""

# mypy: disable-error-code="import-not-found, untyped-decorator"

import json
import sys

import boto3
from flask import Flask, session
from flask_session import Session

SESSION_TYPE = "dynamodb"
SESSION_DYNAMODB = boto3.resource("dynamodb")

app = Flask(__name__)
app.config.from_object(__name__)
Session(app)


@app.route("/set/")
def set_value() -> str:
    session["key"] = "value"
    return "ok"


@app.route("/get/")
def get_value() -> str:
    return str(session.get("key", "not set"))


@app.route("/clear/")
def clear() -> str:
    session.clear()
    return "cleared"


def main(phase: str, cookie: str = "") -> None:
    client = app.test_client()
    if cookie:
        client.set_cookie("session", cookie)
    said = [client.get(f"/{page}/").text for page in (phase, "get")]
    stranger = app.test_client().get("/get/").text
    kept = client.get_cookie("session")
    print(json.dumps({"said": said, "stranger": stranger, "cookie": kept.value if kept else None}))


main(*sys.argv[1:])
