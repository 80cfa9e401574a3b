"""Which error messages do throttled requests get? The service's.

Source: errors.md 9; API reference, TransactWriteItems; developer guide, *Diagnosing throttling*; reports of users.
"""

TABLE_PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning"
    " level with the UpdateTable API."
)
INDEX_PROVISIONED = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded."
    " Consider increasing your provisioning level for the under-provisioned global secondary indexes"
    " with the UpdateTable API."
)
TABLE_ON_DEMAND = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or"
    " index so please try again shortly. If exceptions persist, check if you have a hot key:"
    " https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html."
)
INDEX_ON_DEMAND = (
    "Throughput exceeds the current capacity for one or more global secondary indexes."
    " DynamoDB is automatically scaling your index so please try again shortly."
)
MAXIMUM_ON_DEMAND = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
ACCOUNT_LIMIT = (
    "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at"
    " https://aws.amazon.com/support request a limit increase"
)
