"""A cluster in memory, the exporter that looks at it, and a Prometheus that scrapes the exporter."""

from collections.abc import Iterator

import pytest

from tests.real.kubernetes_lists import TOKEN, Lists, serving
from tests.real.presence import present
from tests.real.watching import watching
from tools.parts.catalog.prometheus import PART, Prometheus, PrometheusPart
from tools.parts.exporter.start import StartedExporter, start_exporter


@pytest.fixture(scope="session")
def part() -> PrometheusPart:
    return present(PART)


@pytest.fixture
def cluster() -> Iterator[Lists]:
    with serving() as lists:
        yield lists


@pytest.fixture
def exporter(cluster: Lists) -> Iterator[StartedExporter]:
    started = start_exporter(cluster.server, token=TOKEN)
    yield started
    started.stop()


@pytest.fixture
def prometheus(exporter: StartedExporter) -> Iterator[Prometheus]:
    with watching(exporter) as started:
        yield started
