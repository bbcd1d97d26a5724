"""Which calls to AWS the sources make, found in the sources themselves.

The deployed role is compared with them, and the function's zip carries a description of these calls
alone: reading all of EC2's, which is some seven hundred, is most of the price of its client.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from botocore import xform_name
from botocore.loaders import Loader

SOURCE: Final = Path(__file__).parents[1] / "src" / "holdfast"
SERVICES: Final[Mapping[str, str]] = {
    "dynamodb": "aws/dynamodb",
    "ec2": "aws/ec2",
    "kinesis": "aws/kinesis.py",
    "pricing": "aws/price_list.py",
    "sns": "aws/sns.py",
    "sqs": "aws/sqs.py",
    "ssm": "aws/ssm.py",
}
"""Each service that the product talks to, and the adapter that does."""
OF_THE_FUNCTION: Final = ("dynamodb", "ec2", "pricing", "sns", "ssm")
"""Those that the function talks to."""
BY_NAME: Final = (".get_paginator", ".get_waiter")
MAKERS: Final = ("client", "make_client")


@cache
def model(service: str) -> Mapping[str, Any]:
    """The service as botocore describes it."""
    loader = Loader()
    found: Mapping[str, Any] = loader.load_data(f"{service}/{version(service)}/service-2")
    return found


@cache
def version(service: str) -> str:
    return str(Loader().determine_latest_version(service, "service-2"))


@cache
def _operations(service: str) -> Mapping[str, str]:
    """By the name of a client's method, the operation."""
    return {xform_name(name): name for name in model(service)["operations"]}


def calls_in(tree: ast.AST, service: str) -> Iterator[str]:
    """Operations that are called by method, or by name: `client.get_paginator("describe_instances")`."""
    known = _operations(service)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in known:
            yield known[node.attr]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(BY_NAME):
            (name,) = node.args
            if not isinstance(name, ast.Constant):
                raise ValueError(f"line {node.lineno}: name the call outright: {ast.unparse(node)}")
            yield known[str(name.value)]


def called(service: str) -> set[str]:
    """Every operation of the service that its adapter calls."""
    return {call for tree in _trees(SERVICES[service]) for call in calls_in(tree, service)}


def talked_to() -> set[str]:
    """Every service of which a client is made anywhere."""
    return {
        str(argument.value)
        for tree in _trees("..")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in MAKERS
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant)
    }


def _trees(below: str) -> Iterable[ast.Module]:
    at = (SOURCE / "adapters" / below).resolve()
    for path in sorted(at.rglob("*.py")) if at.is_dir() else [at]:
        yield ast.parse(path.read_text(), str(path))


def description(service: str) -> dict[str, Any]:
    """The service's description with the operations that are called, and what they refer to; without prose.

    Of an answer in XML only the members that the adapter names are left: botocore looks for each member
    that it knows of, and a machine has some sixty.  JSON is read whole by the standard library.
    """
    whole = model(service)
    kept = {name: _bare(whole["operations"][name]) for name in sorted(called(service))}
    names = frozenset(_words(service)) if whole["metadata"]["protocol"] == "ec2" else None
    sent = _reachable(whole, [part for each in kept.values() for part in references(each.get("input"))])
    told = [part for each in kept.values() for part in references([each.get("output"), each.get("errors")])]
    shapes = {**_reachable(whole, told, names), **sent}
    rest = {part: whole[part] for part in whole if part not in ("operations", "shapes", "documentation")}
    return {**rest, "operations": kept, "shapes": dict(sorted(shapes.items()))}


def _reachable(
    whole: Mapping[str, Any], start: Iterable[str], names: frozenset[str] | None = None
) -> dict[str, Any]:
    """These shapes and what they are made of; of structures only the members with these names, if given."""
    shapes: dict[str, Any] = {}
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in shapes:
            shape = _bare(whole["shapes"][name])
            if names is not None and "members" in shape:
                shape["members"] = {n: part for n, part in shape["members"].items() if n in names}
            shapes[name] = shape
            waiting += references(shape)
    return shapes


def _words(service: str) -> Iterator[str]:
    """Every text in the adapter, and what pages are turned by."""
    for tree in _trees(SERVICES[service]):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    turned = Loader().load_data(f"{service}/{version(service)}/paginators-1")["pagination"]
    for operation in called(service) & turned.keys():
        for part in ("output_token", "result_key", "more_results"):
            named = turned[operation].get(part, [])
            yield from [named] if isinstance(named, str) else named


def references(part: Any) -> Iterator[str]:
    """The shapes that a part of a description names."""
    if isinstance(part, Mapping):
        if isinstance(part.get("shape"), str):
            yield part["shape"]
        for each in part.values():
            yield from references(each)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


def _bare(part: Any) -> Any:
    """Without documentation.  A member that is itself called so is a shape, not a text."""
    if isinstance(part, Mapping):
        return {
            name: _bare(each)
            for name, each in part.items()
            if name != "documentation" or not isinstance(each, str)
        }
    return [_bare(each) for each in part] if isinstance(part, list) else part
