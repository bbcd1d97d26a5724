"""Plain values to DynamoDB's tagged ones and back."""

from collections.abc import Mapping
from typing import Any

Tagged = dict[str, Any]


def tagged(value: object) -> Tagged:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case float():
            return {"N": str(int(value)) if value == int(value) else repr(value)}
        case str():
            return {"S": value}
        case list() | tuple():
            return {"L": [tagged(each) for each in value]}
        case Mapping():
            return {"M": {str(name): tagged(each) for name, each in value.items()}}
    raise TypeError(f"{value!r} has no place in an item")


def plain(value: Mapping[str, Any]) -> Any:
    """Sets, binaries and whatever else another release wrote come back as they are."""
    ((tag, content),) = value.items()
    match tag:
        case "N":
            number = float(content)
            return int(number) if number == int(number) else number
        case "NULL":
            return None
        case "L":
            return [plain(each) for each in content]
        case "M":
            return {name: plain(each) for name, each in content.items()}
        case "S" | "BOOL":
            return content
    return value


def plain_item(item: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: plain(value) for name, value in item.items()}
