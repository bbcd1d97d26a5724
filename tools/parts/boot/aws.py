"""A small `aws`: any service and operation that botocore's models know.

Options are checked against the operation's own model, credentials come from the
instance's role through its metadata service, and every call is written down.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.parts.boot.sandbox import MACHINE

GLOBAL = ("region", "output", "query", "endpoint-url", "profile")
SWITCHES = ("no-cli-pager", "no-paginate", "no-verify-ssl", "debug")


class Usage(Exception):
    """The command line cannot be meant; the message says what is wrong with it."""


def run(args: list[str]) -> str:
    options, words = _split(args)
    if len(words) != 2:
        raise Usage(f"aws <service> <operation> …, not: {' '.join(words)}")
    session: Any = importlib.import_module("botocore.session").get_session()
    client = session.create_client(
        words[0],
        region_name=_text(options.pop("region", None)),
        endpoint_url=_text(options.pop("endpoint-url", None)),
    )
    query, output = _text(options.pop("query", None)), _text(options.pop("output", None)) or "json"
    method = words[1].replace("-", "_")
    if method not in client.meta.method_to_api_mapping:
        raise Usage(f"Invalid choice: {words[0]} has no {words[1]}")
    model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method])
    answer = getattr(client, method)(**_parameters(model, options))
    answer.pop("ResponseMetadata", None)
    if query:
        answer = importlib.import_module("jmespath").search(query, answer)
    return _shown(answer, output)


def _split(args: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Options with the words that follow each, and the words before the first."""
    options: dict[str, list[str]] = {}
    words: list[str] = []
    current: list[str] | None = None
    for arg in args:
        if arg.startswith("--"):
            name, equals, value = arg[2:].partition("=")
            current = options[name] = [value] if equals else []
        elif current is not None and (len(words) == 2 or not current):
            current.append(arg)
        else:
            words.append(arg)
    return {name: given for name, given in options.items() if name not in SWITCHES}, words


def _parameters(model: Any, options: dict[str, list[str]]) -> dict[str, Any]:
    xform_name = importlib.import_module("botocore").xform_name
    members = model.input_shape.members if model.input_shape else {}
    known = {xform_name(name, "-"): (name, shape) for name, shape in members.items()}
    found: dict[str, Any] = {}
    for option, given in options.items():
        positive = option.removeprefix("no-")
        if option in known:
            name, shape = known[option]
            found[name] = True if shape.type_name == "boolean" and not given else _value(shape, given)
        elif positive in known and known[positive][1].type_name == "boolean":
            found[known[positive][0]] = False
        else:
            raise Usage(f"Unknown options: --{option}")
    return found


def _value(shape: Any, given: list[str]) -> Any:
    if shape.type_name == "list":
        if len(given) == 1 and given[0].lstrip().startswith("["):
            return json.loads(given[0])
        return [_value(shape.member, [word]) for word in given]
    if len(given) != 1:
        raise Usage(f"expected one argument, got {len(given)}: {' '.join(given)}")
    word = given[0]
    if shape.type_name in ("structure", "map"):
        return json.loads(word) if word.lstrip().startswith("{") else dict(_shorthand(word))
    if shape.type_name in ("integer", "long"):
        return int(word)
    if shape.type_name == "boolean":
        return word.lower() == "true"
    return word


def _shorthand(word: str) -> Iterator[tuple[str, str | list[str]]]:
    """`Name=a,Values=b,c` as the command line tool reads it."""
    key, values = "", list[str]()
    for piece in [*word.split(","), ""]:
        name, equals, value = piece.partition("=")
        if key and (equals or piece == ""):
            yield key, values if key == "Values" or len(values) > 1 else values[0]
        if equals:
            key, values = name, [value]
        else:
            values.append(piece)


def _text(given: list[str] | None) -> str | None:
    return given[0] if given else None


def _shown(answer: Any, output: str) -> str:
    if output != "text":
        return json.dumps(answer, indent=4, default=str)
    if isinstance(answer, list) and any(isinstance(row, list) for row in answer):
        return "\n".join("\t".join(map(str, row)) for row in answer)
    if isinstance(answer, list):
        return "\t".join(map(str, answer))
    if isinstance(answer, dict):
        return "\t".join(str(answer[key]) for key in sorted(answer))
    return str(answer)


def main() -> int:
    args = sys.argv[1:]
    code, said = 0, ""
    try:
        print(run(args))
    except Usage as error:
        code, said = 2, str(error)
    except Exception as error:
        # Whatever botocore raises has the sentence that the real tool prints.
        code, said = 255, str(error)
    if said:
        print(f"\naws: {said}", file=sys.stderr)
    with (Path(MACHINE) / "aws.jsonl").open("a") as calls:
        calls.write(json.dumps({"args": args, "code": code, "error": said}) + "\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
