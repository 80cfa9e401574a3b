"""What are the values of a template's functions? Resolves Ref, Fn::GetAtt, Fn::Sub and the others, parameters, mappings
and conditions, where they are asked for, and no others.

What only the service can know, such as the attribute of a resource that nobody here makes, becomes a late value.
Source: AWS CloudFormation template reference, *Intrinsic functions* and *Pseudo parameters*.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from hashrange.templates.arns import NAMINGS, written_out
from hashrange.templates.late_values import late, late_names, readable
from hashrange.templates.parameters import parameter_values, scalar_text
from hashrange.templates.sam import is_sam
from hashrange.templates.stack import TARGET_TYPE, Locality, Stack
from hashrange.templates.texts import TemplateError
from hashrange.written.names import did_you_mean

TEXT_LENGTH_MAX = 1024 * 1024
"""Longest text that a function may make."""
TEXTS_LENGTH_MAX = 16 * 1024 * 1024
"""Length of all texts that functions make of a template."""
STEPS_MAX = 1_000_000
STACK_ARN = "arn:{partition}:cloudformation:{region}:{account}:stack/{name}/hashrange"
ZONES = "abc"
URL_SUFFIXES = {"aws-cn": "amazonaws.com.cn"}
_find_dynamic = re.compile(r"\{\{resolve:[^{}\ue000\ue001]*\}\}")
"""A dynamic reference to what AWS keeps in Systems Manager or Secrets Manager."""
_find_variable = re.compile(r"\$\{(!?)([^}]*)\}")


class _NoValue:
    """What AWS::NoValue is: the member that has it is not there."""


NO_VALUE = _NoValue()


class Resolver:
    """Resolves values of one stack."""

    def __init__(self, stack: Stack, place: Locality, given: Mapping[str, str], exports: Mapping[str, str]) -> None:
        """`given`: values of parameters; `exports`: those of other stacks."""
        self._place, self._exports = place, exports
        document = stack.document
        self._parameters = parameter_values(document.get("Parameters"), given)
        self._mappings = self._section(document, "Mappings")
        self._conditions = self._section(document, "Conditions")
        self._resources = self._section(document, "Resources")
        self._stack_name, self._is_sam = stack.name, is_sam(document)
        self._truths: dict[str, bool] = {}
        self._names: dict[str, str] = {}
        self._open: list[str] = []
        """What is being resolved, from the outside to the inside."""
        self._steps = self._made_length = 0
        self._pseudo = {
            "AWS::AccountId": place.account,
            "AWS::Region": place.region,
            "AWS::Partition": place.partition,
            "AWS::URLSuffix": URL_SUFFIXES.get(place.partition, "amazonaws.com"),
            "AWS::StackName": stack.name,
            "AWS::StackId": written_out(STACK_ARN, place, stack.name),
            "AWS::NotificationARNs": [],
            "AWS::NoValue": NO_VALUE,
        }  # fmt: skip

    @staticmethod
    def _section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
        section = document.get(name) or {}
        if not isinstance(section, dict):
            raise TemplateError(f"{name} is no object.")
        return section

    def value(self, value: Any, where: str) -> Any:
        """The value with all functions resolved; NO_VALUE if it is not there. `where`: its path."""
        found = self._resolved(value, where)
        return _find_dynamic.sub(lambda one: late(one[0]), found) if isinstance(found, str) else found

    def _resolved(self, value: Any, where: str) -> Any:
        self._steps += 1
        if self._steps > STEPS_MAX:
            _refuse(where, "resolving the template takes more than a million steps")
        if isinstance(value, dict):
            if len(value) == 1:
                name, argument = next(iter(value.items()))
                if name == "Ref" or name.startswith("Fn::"):
                    return self._function(name, argument, where)
            found = ((name, self.value(one, f"{where}.{name}")) for name, one in value.items())
            return {name: one for name, one in found if one is not NO_VALUE}
        if isinstance(value, list):
            items = [self.value(one, f"{where}[{number}]") for number, one in enumerate(value)]
            return [one for one in items if one is not NO_VALUE]
        return value

    def _function(self, name: str, argument: Any, where: str) -> Any:
        function = FUNCTIONS.get(name)
        if function is None:
            known = [one.removeprefix("Fn::") for one in FUNCTIONS]
            _refuse(where, f"{name} is not resolved here.{did_you_mean(name.removeprefix('Fn::'), known)}")
        return function(self, argument, where)

    def _require_room(self, name: str, length: int, where: str) -> None:
        """Refuse a text of this length, which a function is about to make, if it or all together are too long."""
        if length > TEXT_LENGTH_MAX:
            _refuse(where, f"{name} makes a text of more than {TEXT_LENGTH_MAX:,} characters")
        self._made_length += length
        if self._made_length > TEXTS_LENGTH_MAX:
            _refuse(where, f"{name} and others make texts of more than {TEXTS_LENGTH_MAX:,} characters")

    def text(self, value: Any, where: str) -> str:
        """A value that must be a scalar, as text."""
        found = self.value(value, where)
        if isinstance(found, dict | list | _NoValue):
            _refuse(where, "it must be a text")
        return scalar_text(found)

    # --- resources ----------------------------------------------------------------------------

    def is_there(self, name: str) -> bool:
        """True unless the resource has a condition that is false."""
        condition = self._resources[name].get("Condition") if isinstance(self._resources[name], dict) else None
        return condition is None or self.condition(condition, f"Resources.{name}.Condition")

    def physical_name(self, logical: str) -> str:
        """The name that a resource gives itself, or one of stack and logical ID."""
        if logical not in self._names:
            resource = self._resources[logical]
            naming = NAMINGS.get(resource.get("Type", ""))
            properties = resource.get("Properties") or {}
            own = properties.get(naming.name_property) if naming and isinstance(properties, dict) else None
            where = f"Resources.{logical}.Properties.{naming.name_property if naming else ''}"
            with self._within(logical, where):
                found = NO_VALUE if own is None else self.value(own, where)
            made_up = f"{self._stack_name}-{logical}"
            self._names[logical] = made_up if found is NO_VALUE else scalar_text(found)
        return self._names[logical]

    def reference(self, logical: str, attribute: str | None, where: str) -> Any:
        """What Ref (without an attribute) or Fn::GetAtt of a resource is."""
        if logical not in self._resources:
            if self._is_sam and logical.startswith(("Serverless", *self._resources)):
                return late(logical if attribute is None else f"{logical}.{attribute}")  # SAM would have made it
            near = did_you_mean(logical, [*self._resources, *self._parameters])
            _refuse(where, f"the template has no {logical}.{near}")
        resource = self._resources[logical]
        type_ = resource.get("Type", "") if isinstance(resource, dict) else ""
        if type_ == TARGET_TYPE and attribute is None:
            return self._target(logical, where)
        naming = NAMINGS.get(type_)
        if naming is not None and attribute in {None, naming.arn_attribute}:
            form = naming.ref if attribute is None else naming.arn
            return written_out(form, self._place, self.physical_name(logical))
        if naming is not None and attribute in {naming.name_property, "Name"}:
            return self.physical_name(logical)
        return late(logical if attribute is None else f"{logical}.{attribute}")

    def _target(self, logical: str, where: str) -> str:
        """Ref of a scalable target: resource, dimension and namespace."""
        properties = self._resources[logical].get("Properties") or {}
        with self._within(logical, where):
            members = ("ResourceId", "ScalableDimension", "ServiceNamespace")
            return "|".join(self.text(properties.get(one), f"Resources.{logical}.Properties.{one}") for one in members)

    @contextmanager
    def _within(self, name: str, where: str) -> Iterator[None]:
        """Refuses a value that needs itself."""
        if name in self._open:
            circle = " → ".join([*self._open[self._open.index(name) :], name])
            _refuse(where, f"the values depend on each other in a circle: {circle}")
        self._open.append(name)
        yield
        self._open.pop()

    # --- functions ----------------------------------------------------------------------------

    def ref(self, argument: Any, where: str) -> Any:
        """Ref: a pseudo parameter, a parameter, or a resource."""
        if not isinstance(argument, str):
            _refuse(where, "Ref takes the name of a parameter or a resource")
        if argument in self._pseudo:
            return self._pseudo[argument]
        if argument in self._parameters:
            found = self._parameters[argument]
            if found is None:
                _refuse(
                    where,
                    f"the parameter {argument} has no value: give it a Default, or `--parameter {argument}=VALUE`",
                )
            return found
        return self.reference(argument, None, where)

    def get_att(self, argument: Any, where: str) -> Any:
        """Fn::GetAtt, in both its forms."""
        pair = argument.split(".", 1) if isinstance(argument, str) else argument
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            _refuse(where, "Fn::GetAtt takes a resource and an attribute")
        return self.reference(pair[0], self.text(pair[1], where), where)

    def sub(self, argument: Any, where: str) -> str:
        """Fn::Sub, with or without variables of its own."""
        text, own = argument if isinstance(argument, list) and len(argument) == 2 else (argument, {})
        if not isinstance(text, str) or not isinstance(own, dict):
            _refuse(where, "Fn::Sub takes a text, or a text and an object of variables")
        values = {name: self.text(one, f"{where}.{name}") for name, one in own.items()}

        def value_of(name: str) -> str:
            if name in values:
                return values[name]
            is_attribute = "." in name and name not in self._parameters
            return scalar_text(self.get_att(name, where) if is_attribute else self._sub_ref(name, where))

        parts, end, length = list[str](), 0, len(text)
        for found in _find_variable.finditer(text):
            value = f"${{{found[2]}}}" if found[1] else value_of(found[2].strip())
            length += len(value)
            if length > TEXT_LENGTH_MAX:
                break
            parts += (text[end : found.start()], value)
            end = found.end()
        self._require_room("Fn::Sub", length, where)
        return "".join((*parts, text[end:]))

    def _sub_ref(self, name: str, where: str) -> str:
        found = self.ref(name, where)
        return ",".join(found) if isinstance(found, list) else scalar_text(None if found is NO_VALUE else found)

    def join(self, argument: Any, where: str) -> str:
        """Fn::Join."""
        delimiter, values = self._arguments("Fn::Join", argument, 2, where)
        found = self.value(values, where)
        if not isinstance(delimiter, str) or not isinstance(found, list):
            _refuse(where, "Fn::Join takes a delimiter and a list")
        texts = [self.text(one, where) for one in found]
        self._require_room("Fn::Join", len(delimiter) * len(texts) + sum(map(len, texts)), where)
        return delimiter.join(texts)

    def select(self, argument: Any, where: str) -> Any:
        """Fn::Select."""
        number, values = self._arguments("Fn::Select", argument, 2, where)
        position, found = self.text(number, where), self.value(values, where)
        if not isinstance(found, list) or not position.isdecimal():
            _refuse(where, "Fn::Select takes a number and a list")
        if int(position[:9]) < len(found):
            return found[int(position[:9])]
        names = late_names(found)
        return late(names[0]) if names else _refuse(where, f"Fn::Select asks for value {position} of {len(found)}")

    def split(self, argument: Any, where: str) -> list[str]:
        """Fn::Split. A text that is known only later is not split."""
        delimiter, text = self._arguments("Fn::Split", argument, 2, where)
        found = self.text(text, where)
        if not isinstance(delimiter, str) or not delimiter:
            _refuse(where, "Fn::Split takes a delimiter and a text")
        names = late_names(found)
        return [late(f"Fn::Split of {names[0]}")] if names else found.split(delimiter)

    def find_in_map(self, argument: Any, where: str) -> Any:
        """Fn::FindInMap, with a DefaultValue or without."""
        if not isinstance(argument, list) or len(argument) not in {3, 4}:
            _refuse(where, "Fn::FindInMap takes the names of a map, of a key in it, and of a key in that")
        names = [self.text(one, where) for one in argument[:3]]
        found: Any = self._mappings
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            return self.value(found, f"Mappings.{'.'.join(names)}")
        if len(argument) == 4 and isinstance(argument[3], dict) and "DefaultValue" in argument[3]:
            return self.value(argument[3]["DefaultValue"], where)
        return _refuse(where, f"the template has no Mappings.{'.'.join(names)}")

    def choose(self, argument: Any, where: str) -> Any:
        """Fn::If."""
        name, when_true, when_false = self._arguments("Fn::If", argument, 3, where)
        return self.value(when_true if self.condition(name, where) else when_false, where)

    def base64(self, argument: Any, where: str) -> str:
        """Fn::Base64."""
        return base64.b64encode(self.text(argument, where).encode()).decode()

    def zones(self, argument: Any, where: str) -> list[str]:
        """Fn::GetAZs: three made-up Availability Zones."""
        return [f"{self.text(argument, where) or self._place.region}{letter}" for letter in ZONES]

    def length(self, argument: Any, where: str) -> int:
        """Fn::Length."""
        found = self.value(argument, where)
        return len(found) if isinstance(found, list) else _refuse(where, "Fn::Length takes a list")

    def json_text(self, argument: Any, where: str) -> str:
        """Fn::ToJsonString."""
        return json.dumps(self.value(argument, where), separators=(",", ":"))

    def import_value(self, argument: Any, where: str) -> str:
        """Fn::ImportValue: an export of another stack, if that is known here."""
        name = self.text(argument, where)
        return self._exports.get(name, late(f"Fn::ImportValue {name}"))

    @staticmethod
    def _arguments(name: str, argument: Any, count: int, where: str) -> list[Any]:
        if not isinstance(argument, list) or len(argument) != count:
            _refuse(where, f"{name} takes a list of {count} values")
        return argument

    # --- conditions ---------------------------------------------------------------------------

    def condition(self, condition: Any, where: str) -> bool:
        """Whether a condition holds: one of the template by its name, or an expression."""
        if isinstance(condition, str):
            return self._named_condition(condition, where)
        if not isinstance(condition, dict) or len(condition) != 1:
            _refuse(where, "it is no condition")
        name, argument = next(iter(condition.items()))
        if name == "Condition":
            return self.condition(argument, where)
        if name == "Fn::Equals":
            left, right = self._arguments(name, argument, 2, where)
            return bool(self._compared(left, where) == self._compared(right, where))
        if name not in {"Fn::And", "Fn::Or", "Fn::Not"} or not isinstance(argument, list) or not argument:
            _refuse(where, f"{readable(name)} is no condition")
        truths = [self.condition(one, where) for one in argument]
        if name == "Fn::Not":
            return not truths[0]
        return all(truths) if name == "Fn::And" else any(truths)

    def _compared(self, value: Any, where: str) -> Any:
        found = self.value(value, where)
        return found if isinstance(found, dict | list | _NoValue) else scalar_text(found)

    def _named_condition(self, name: str, where: str) -> bool:
        if name not in self._conditions:
            _refuse(where, f"the template has no condition {name}.{did_you_mean(name, self._conditions)}")
        if name not in self._truths:
            with self._within(f"Conditions.{name}", where):
                self._truths[name] = self.condition(self._conditions[name], f"Conditions.{name}")
        return self._truths[name]


def _refuse(where: str, reason: str) -> NoReturn:
    raise TemplateError(f"{where}: {readable(reason)}{'' if reason.endswith(('.', '?')) else '.'}")


FUNCTIONS: dict[str, Callable[[Resolver, Any, str], Any]] = {
    "Ref": Resolver.ref,
    "Fn::GetAtt": Resolver.get_att,
    "Fn::Sub": Resolver.sub,
    "Fn::Join": Resolver.join,
    "Fn::Select": Resolver.select,
    "Fn::Split": Resolver.split,
    "Fn::FindInMap": Resolver.find_in_map,
    "Fn::If": Resolver.choose,
    "Fn::Base64": Resolver.base64,
    "Fn::GetAZs": Resolver.zones,
    "Fn::Length": Resolver.length,
    "Fn::ToJsonString": Resolver.json_text,
    "Fn::ImportValue": Resolver.import_value,
}
