"""What a refusal is as an exception."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from holdfast.failover.api.codes import Code, Refusal


@contextmanager
def within() -> Iterator[None]:
    yield


def test_a_refusal_passes_through_a_context_manager() -> None:
    with pytest.raises(Refusal, match="there is no such group"), within():
        raise Refusal(Code.NOT_FOUND, "there is no such group")
