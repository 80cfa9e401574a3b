"""Which operations on functions are served? All `OPERATION`s of this package."""

from hashrange.functions.api import (
    add_permission,
    create_function,
    delete_function,
    function_concurrency,
    get_account_settings,
    get_function,
    get_function_configuration,
    get_policy,
    invoke,
    list_functions,
    list_versions_by_function,
    not_there,
    remove_permission,
    tags,
    update_function_code,
    update_function_configuration,
)

OPERATIONS = (
    add_permission.OPERATION,
    create_function.OPERATION,
    delete_function.OPERATION,
    *function_concurrency.OPERATIONS,
    get_account_settings.OPERATION,
    get_function.OPERATION,
    get_function_configuration.OPERATION,
    get_policy.OPERATION,
    invoke.OPERATION,
    list_functions.OPERATION,
    list_versions_by_function.OPERATION,
    *not_there.OPERATIONS,
    remove_permission.OPERATION,
    *tags.OPERATIONS,
    update_function_code.OPERATION,
    update_function_configuration.OPERATION,
)
