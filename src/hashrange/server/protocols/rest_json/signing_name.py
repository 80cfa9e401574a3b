"""For which service must requests of Lambda's API be signed?
This file imports nothing, since servers without functions need the name too.
"""

LAMBDA_SIGNING_NAME = "lambda"
