"""The application of Celery's tutorial: its results are in DynamoDB, its messages in a folder instead of RabbitMQ."""

# mypy: disable-error-code="import-not-found, untyped-decorator"

import os

from celery import Celery

folder = os.environ["MESSAGES"]
app = Celery("tasks", backend=os.environ["RESULT_BACKEND"], broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": folder,
    "data_folder_out": folder,
    "control_folder": os.path.join(folder, "control"),
    "polling_interval": 0.1,
}


@app.task
def add(x: int, y: int) -> int:
    return x + y


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task
def divide(x: int, y: int) -> float:
    return x / y
