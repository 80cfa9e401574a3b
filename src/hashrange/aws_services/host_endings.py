"""At which names does AWS serve its APIs? Names of all partitions, of accounts,
of dual-stack and of FIPS hosts have these endings.
"""

AWS_ENDINGS = (
    ".amazonaws.com",
    ".api.aws",
    ".amazonaws.com.cn",
    ".api.amazonwebservices.com.cn",
    ".amazonaws.eu",
    ".api.amazonwebservices.eu",
    ".c2s.ic.gov",
    ".api.aws.ic.gov",
    ".sc2s.sgov.gov",
    ".api.aws.scloud",
    ".cloud.adc-e.uk",
    ".api.cloud-aws.adc-e.uk",
    ".csp.hci.ic.gov",
    ".api.aws.hci.ic.gov",
)
"""Endings of the names of AWS's hosts, those of all partitions.
Source: the partitions of the AWS SDKs, which a test reads."""
