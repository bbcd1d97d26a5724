"""The deployment's template, read as data."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parents[2] / "deploy" / "aws-sam" / "template.yaml"


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as {tag: value}."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {suffix: loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _short_form)


@cache
def template() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.load(PATH.read_text(), _Loader)
    return found


def properties(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = template()["Resources"][name]["Properties"]
    return found
