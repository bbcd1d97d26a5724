"""Lists in chunks, decoded straight into the values of `holdfast.cloud.kubernetes`.

The collector is left alone: the values are made without it (`gc=False`), and turning it off
meanwhile, or freezing after each page, gained nothing on 30,000 pods.
"""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from holdfast.adapters.kubernetes.calls import Call
from holdfast.adapters.kubernetes.client import NO_QUERY, Client
from holdfast.adapters.kubernetes.errors import status_of, translate_answer
from holdfast.cloud.kubernetes import Value
from holdfast.kernel import Busy, Invalid

CHUNK = 500
TRIES_MAX = 2
"""A list whose snapshot expires while it is read is begun anew once."""

Thing = TypeVar("Thing")


class PageMeta(Value, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")
    resource_version: str = ""


class Page(Value, Generic[Thing], frozen=True):
    metadata: PageMeta = PageMeta()
    items: list[Thing] | None = None


class _Expired(Exception):
    """The snapshot behind a continued list is gone."""


def listed(
    client: Client,
    call: Call,
    path: str,
    decoder: msgspec.json.Decoder[Page[Thing]],
    query: Mapping[str, str] = NO_QUERY,
) -> list[Thing]:
    """All of them, as they were at one moment not before this call: no `resourceVersion` allows less."""
    return listed_at(client, call, path, decoder, query)[0]


def listed_at(
    client: Client,
    call: Call,
    path: str,
    decoder: msgspec.json.Decoder[Page[Thing]],
    query: Mapping[str, str] = NO_QUERY,
) -> tuple[list[Thing], str]:
    """The same, with the version from which a watch goes on."""
    why = ""
    for _ in range(TRIES_MAX):
        found: list[Thing] = []
        version = ""
        try:
            for page in _pages(client, call, path, decoder, query):
                found += page.items or []
                version = version or page.metadata.resource_version
            return found, version
        except _Expired as error:
            why = str(error)
    raise Busy(f"{call}: the list expired while it was read, {TRIES_MAX} times: {why}")


def _pages(
    client: Client,
    call: Call,
    path: str,
    decoder: msgspec.json.Decoder[Page[Thing]],
    query: Mapping[str, str],
) -> Iterator[Page[Thing]]:
    asked = {**query, "limit": str(CHUNK)}
    while True:
        answer = client.ask(call, "GET", path, asked, writes=False)
        if answer.status == 410 and "continue" in asked:
            raise _Expired(status_of(answer).message)
        if not answer.is_success:
            raise translate_answer(call, answer, writes=False)
        page = decoded(call, decoder, answer.body)
        yield page
        if not page.metadata.continue_:
            return
        asked["continue"] = page.metadata.continue_


def decoded(call: Call, decoder: msgspec.json.Decoder[Thing], body: bytes) -> Thing:
    """What a read brought; anything but Kubernetes' own form is named as such."""
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Invalid(
            f"{call}: the answer is not what Kubernetes sends: {error} (check the server's address)"
        ) from error
