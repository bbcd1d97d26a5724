"""The body of a request, as its operation's type; or what is wrong with it, in the caller's words."""

import json
import re
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.operations import Operation
from holdfast.failover.group import ID_SHAPE

WHERE: Final = re.compile(r"(?P<says>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
SHOWN_MAX: Final = 80


def decoded(operation: Operation, raw: bytes) -> Any:
    """Raises Refusal(INVALID_REQUEST) that names the field, the value that was sent, and what to give."""
    if operation.body is None:
        return None
    try:
        return msgspec.json.decode(raw or b"{}", type=operation.body)
    except msgspec.ValidationError as error:
        raise Refusal(Code.INVALID_REQUEST, _told(operation.body, raw, str(error))) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(Code.INVALID_REQUEST, f"the body is no JSON: {error}; send one object") from error


def _told(body: type[wire.Request], raw: bytes, said: str) -> str:
    found = WHERE.fullmatch(said)
    says, path = (found["says"], found["path"] or "") if found else (said, "")
    if "field `" in says or not path:
        inside = f" in {path}" if path else ""
        takes = ", ".join(_struct(body, path).__struct_fields__) or "no field"
        return f"the body does not fit: {says}{inside}; it takes: {takes}"
    return f"{path} = {_shown(raw, path)}: {_fix(body, path, says)}"


def _fix(body: type[wire.Request], path: str, says: str) -> str:
    parent, _, name = path.rpartition(".")
    if "matching regex" in says:
        return f"give {ID_SHAPE}"
    choices = _choices(get_type_hints(_struct(body, parent), include_extras=True).get(name))
    if choices and says.startswith("Invalid enum value"):
        return f"give {' or '.join(choices)}"
    return wire.fix(says)


def _struct(body: type[wire.Request], path: str) -> type[wire.Request]:
    """The type at the path; the nearest one that holds fields."""
    for name in filter(None, path.split(".")):
        inner = get_type_hints(body).get(name)
        if not (isinstance(inner, type) and issubclass(inner, wire.Request)):
            break
        body = inner
    return body


def _choices(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [repr(each) for each in get_args(kind)]
    return [choice for each in get_args(kind) for choice in _choices(each)]


def _shown(raw: bytes, path: str) -> str:
    """What was sent there, as JSON, cut short."""
    value = json.loads(raw)
    for name in path.split("."):
        value = value[name]
    return json.dumps(value)[:SHOWN_MAX]
