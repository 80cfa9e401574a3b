"""Request ids are unique within a process and across processes."""

import importlib.util
from types import ModuleType

from hashrange.store import request_ids
from hashrange.store.request_ids import REQUEST_ID_BYTES, new_request_id


def another_process() -> ModuleType:
    """The module as another process would load it."""
    assert request_ids.__file__ is not None
    spec = importlib.util.spec_from_file_location("another", request_ids.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_two_ids_of_a_process_are_equal_and_later_ones_are_greater() -> None:
    given = [new_request_id() for _ in range(1000)]
    assert len(set(given)) == 1000
    assert given == sorted(given)
    assert {len(one) for one in given} == {REQUEST_ID_BYTES}


def test_a_restarted_server_gives_others() -> None:
    first, second = another_process(), another_process()
    of_first = {first.new_request_id() for _ in range(100)}
    assert not of_first & {second.new_request_id() for _ in range(100)}
