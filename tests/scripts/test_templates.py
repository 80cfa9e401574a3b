"""Templates by cases: a template → its outputs and requests, or the sentence that refuses it."""

from tests.scripts.cases import case_test
from tests.scripts.template_cases import shown

test_templates = case_test("templates.case", shown)
test_template_functions = case_test("template_functions.case", shown)
