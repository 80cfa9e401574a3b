"""Runs commands of the AWS CLI in one process, because each start takes half a second.

Reads a command per line, as a list of words in JSON, and answers with a line of exit code,
standard output and standard error.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from awscli.clidriver import create_clidriver  # type: ignore[import-not-found] # of the environment beside this file

driver = create_clidriver()
for line in sys.stdin:
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        status = driver.main(json.loads(line))
    print(json.dumps([status, output.getvalue(), errors.getvalue()]), flush=True)
