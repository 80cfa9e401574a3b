"""What is raised for an expression of metric math that cannot be read or evaluated?"""

from hashrange.errors import HashrangeError


class MathError(HashrangeError):
    """The message says what is wrong, without the expression; it stands behind `Error in expression 'e1': `."""
