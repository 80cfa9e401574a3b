"""Which types of nodes are there, and how much memory has each?
Source: the price list of DAX; caches have about that much.
"""

GIB = 1024**3
NODE_MEMORY_BYTES = {
    "dax.t2.small": 2 * GIB,
    "dax.t2.medium": 4 * GIB,
    "dax.t3.small": 2 * GIB,
    "dax.t3.medium": 4 * GIB,
    "dax.r3.large": int(15.25 * GIB),
    "dax.r3.xlarge": int(30.5 * GIB),
    "dax.r3.2xlarge": 61 * GIB,
    "dax.r3.4xlarge": 122 * GIB,
    "dax.r3.8xlarge": 244 * GIB,
    "dax.r4.large": int(15.25 * GIB),
    "dax.r4.xlarge": int(30.5 * GIB),
    "dax.r4.2xlarge": 61 * GIB,
    "dax.r4.4xlarge": 122 * GIB,
    "dax.r4.8xlarge": 244 * GIB,
    "dax.r4.16xlarge": 488 * GIB,
    "dax.r5.large": 16 * GIB,
    "dax.r5.xlarge": 32 * GIB,
    "dax.r5.2xlarge": 64 * GIB,
    "dax.r5.4xlarge": 128 * GIB,
    "dax.r5.8xlarge": 256 * GIB,
    "dax.r5.12xlarge": 384 * GIB,
    "dax.r5.16xlarge": 512 * GIB,
    "dax.r5.24xlarge": 768 * GIB,
    "dax.r7i.large": 16 * GIB,
    "dax.r7i.xlarge": 32 * GIB,
    "dax.r7i.2xlarge": 64 * GIB,
    "dax.r7i.4xlarge": 128 * GIB,
    "dax.r7i.8xlarge": 256 * GIB,
    "dax.r7i.12xlarge": 384 * GIB,
    "dax.r7i.16xlarge": 512 * GIB,
    "dax.r7i.24xlarge": 768 * GIB,
}
"""Node type → memory in bytes. An entry takes memory of this process only once it is there."""
SMALLEST_TYPE = "dax.t3.small"
