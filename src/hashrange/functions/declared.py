"""Which functions of the server's settings does a caller see?
All declared ones, except those that name another account or Region.
"""

from collections.abc import Sequence

from hashrange.aws_services.operation import Caller
from hashrange.functions.declaration import FunctionDeclaration, check_declaration, describe_declared
from hashrange.functions.description import FunctionDescription, new_revision_id

DECLARED_CALLER = Caller("000000000000", "us-east-1")
"""For whom the code of a declared function is tried at start, unless it names an account and a Region."""


class DeclaredFunctions:
    """The declared functions of a server, by name."""

    def __init__(self) -> None:
        self._declared: dict[str, tuple[FunctionDeclaration, float, str]] = {}
        """Name → declaration, service time of the declaration, run id."""

    def declare(self, name: str, declaration: FunctionDeclaration, now_seconds: float) -> None:
        """Add a function, or replace one. Raises FunctionsError."""
        check_declaration(name, declaration)
        self._declared[name] = declaration, now_seconds, new_revision_id()

    def find(self, name: str, caller: Caller) -> FunctionDescription | None:
        """The function of this name that the caller sees; None if there is none."""
        found = self._declared.get(name)
        if found is None or not found[0].is_seen_by(caller):
            return None
        return describe_declared(name, found[0], caller, found[1], found[2])

    def names_after(self, after: str, caller: Caller) -> list[str]:
        """The names that follow `after` of the functions that the caller sees, in no order."""
        return [
            name
            for name, (declaration, _, _) in self._declared.items()
            if name > after and declaration.is_seen_by(caller)
        ]

    def all(self) -> Sequence[FunctionDescription]:
        """Each function, as a caller sees it that sees it."""
        return [
            describe_declared(
                name,
                declaration,
                Caller(declaration.account or DECLARED_CALLER.account, declaration.region or DECLARED_CALLER.region),
                declared_at_seconds,
                run_id,
            )
            for name, (declaration, declared_at_seconds, run_id) in self._declared.items()
        ]
