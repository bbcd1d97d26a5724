"""The real KCL under `exec`: a reshard leaves no child unread, where the agreed number alone does."""

import time
from contextlib import ExitStack

import pytest

from tests.real.kcl_worker import prepare_leases
from tests.real.presence import present
from tests.real.product.leases.site import Running, Site, executing, started
from tests.real.traces import wait_until
from tools.parts.catalog.kcl import PART as KCL
from tools.parts.catalog.kcl import Fleet

WITHIN_S = 30.0
"""Three JVMs and a reshard; six or seven seconds if nothing else runs."""


def fleet(site: Site, app: str) -> Fleet:
    return Fleet(site.kinesis.endpoint, site.dynamodb_endpoint, site.stream, app)


def read(*workers: Running) -> set[str]:
    return {shard for worker in workers for shard in worker.shards("records")}


@pytest.mark.alone
def test_a_reshard_is_read_to_the_last_child_and_with_the_agreed_number_it_is_not(site: Site) -> None:
    kcl = present(KCL)
    site.streams.make(site.stream, 4)
    parents = set(site.streams.open_shards(site.stream))
    tight = f"{site.app}-tight"
    for app in (site.app, tight):
        prepare_leases(site.tables, app, sorted(parents))
    with ExitStack() as closing:
        both = [
            closing.enter_context(
                executing(
                    site,
                    worker,
                    *kcl.command("{max_leases}"),
                    KDS_WORKER_COUNT="2",
                    KINESIS_ENDPOINT=site.kinesis.endpoint,
                    DYNAMODB_ENDPOINT=site.dynamodb_endpoint,
                )
            )
            for worker in ("worker-1", "worker-2")
        ]
        # For eight shards and one worker the agreed number is eight.
        alone = closing.enter_context(started(kcl.command(8), dict(fleet(site, tight).environment("alone"))))
        site.streams.put_into_each(site.stream)
        wait_until(lambda: read(*both) == parents == read(alone), "all four shards are read by both apps")

        site.streams.reshard(site.stream, 8)
        site.streams.put_into_each(site.stream)
        resharded_s = time.monotonic()
        children = set(site.streams.open_shards(site.stream))
        assert len(children) == 8
        wait_until(lambda: read(*both) >= children, "all eight children are read", timeout_s=WITHIN_S)
        took_s = time.monotonic() - resharded_s
        assert any(worker.says("restarting the command with max_leases=12") for worker in both), took_s
        time.sleep(max(0.0, resharded_s + WITHIN_S / 3 - time.monotonic()))
        assert len(read(alone) & children) == 4, "rows of the ended parents fill the cap"

        assert [worker.end() for worker in both] == [143, 143], "as the KCL's JVM ended"
    assert site.left_behind() == []
    assert set(site.rows()) == {f"{site.app}_coordinator"}, "workers that leave take their rows along"
