"""The EC2 query protocol: a form comes in, XML goes out."""

import uuid
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode
from xml.sax.saxutils import escape

from tools.parts.ec2.api.errors import AwsError

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"
XML = "text/xml;charset=UTF-8"
STATE_CODES = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}
READING = ("Describe", "Get", "List", "Search")


@dataclass(frozen=True)
class Answer:
    """What goes back to the caller."""

    status: int
    body: bytes
    headers: list[tuple[str, str]] = field(default_factory=lambda: [("Content-Type", XML)])

    @property
    def ok(self) -> bool:
        return self.status < 400


@dataclass(frozen=True)
class Call:
    """One EC2 request."""

    region: str
    form: Mapping[str, str]
    environ: Mapping[str, Any]

    @property
    def action(self) -> str:
        return self.form.get("Action", "")

    @property
    def changes(self) -> bool:
        return not self.action.startswith(READING)

    @property
    def dry_run(self) -> bool:
        return self.form.get("DryRun", "").lower() == "true"

    @property
    def selective(self) -> bool:
        """Whether a listing asks for less than everything."""
        return any(key.startswith(("Filter", "InstanceId", "MaxResults")) for key in self.form)

    @property
    def instance_ids(self) -> list[str]:
        return [value for key, value in self.form.items() if key.startswith("InstanceId")]

    @property
    def instance_count(self) -> int:
        if self.action == "RunInstances":
            return int(self.form.get("MaxCount", "1"))
        return len(self.instance_ids)

    def with_form(self, **changed: str) -> "Call":
        """The same call with some fields changed; dots are written as double underscores."""
        fields = {key.replace("__", "."): value for key, value in changed.items()}
        return replace(self, form={**self.form, **fields})


def read_form(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode(), keep_blank_values=True))


def write_form(form: Mapping[str, str]) -> bytes:
    return urlencode(dict(form)).encode()


def error_answer(error: AwsError) -> Answer:
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error>'
        f"<Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
        f"</Error></Errors><RequestID>{uuid.uuid4()}</RequestID></Response>"
    )
    return Answer(error.status, body.encode())


def error_code(answer: Answer) -> str:
    """The code of a refusal, as written in its body."""
    try:
        found = ET.fromstring(answer.body).find(".//{*}Code")
    except ET.ParseError:
        return f"HTTP {answer.status}"
    return found.text or "" if found is not None else f"HTTP {answer.status}"


def console_answer(instance_id: str, output_base64: str, at: str) -> Answer:
    body = (
        f'<GetConsoleOutputResponse xmlns="{NAMESPACE}"><requestId>{uuid.uuid4()}</requestId>'
        f"<instanceId>{escape(instance_id)}</instanceId><timestamp>{at}</timestamp>"
        f"<output>{output_base64}</output></GetConsoleOutputResponse>"
    )
    return Answer(200, body.encode())


def show_states(body: bytes, states: Mapping[str, str], spot_requests: Mapping[str, str]) -> bytes:
    """Write what we know of each instance over what moto said of it."""
    root = ET.fromstring(body)
    namespace = root.tag.partition("}")[0] + "}"
    ET.register_namespace("", namespace.strip("{}"))
    for item in root.iter(f"{namespace}item"):
        instance_id = item.findtext(f"{namespace}instanceId", "")
        if instance_id not in states:
            continue
        launched, changed = (item.find(f"{namespace}{tag}") for tag in ("instanceState", "currentState"))
        for shown in (launched, changed):
            if shown is not None:
                _write_state(shown, namespace, states[instance_id])
        request_tag = f"{namespace}spotInstanceRequestId"
        if launched is not None and instance_id in spot_requests and item.find(request_tag) is None:
            ET.SubElement(item, request_tag).text = spot_requests[instance_id]
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _write_state(shown: ET.Element, namespace: str, state: str) -> None:
    for tag, text in (("code", str(STATE_CODES[state])), ("name", state)):
        child = shown.find(f"{namespace}{tag}")
        if child is not None:
            child.text = text
