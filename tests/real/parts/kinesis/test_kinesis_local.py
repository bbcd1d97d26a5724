"""What the product takes for granted of Kinesis."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.real.streams import Streams
from tools.parts.catalog.kinesis_local import KinesisLocal


def listening_sockets() -> dict[str, str]:
    """The address by inode, of every TCP socket that listens on this machine."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                found[words[9]] = words[1].partition(":")[0]
    return found


def sockets_of(folder: Path) -> set[str]:
    """The inodes of all sockets of the processes that work in this folder."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() != folder:
                continue
            links = [handle.readlink() for handle in (process / "fd").iterdir()]
        except OSError:
            continue
        found |= {str(link)[len("socket:[") : -1] for link in links if str(link).startswith("socket:[")}
    return found


def test_it_listens_on_loopback_and_nowhere_else(kinesis: KinesisLocal) -> None:
    heard = listening_sockets()
    ours = [heard[inode] for inode in sockets_of(kinesis.running.folder) if inode in heard]
    assert len(ours) == 2, "the plain port and the one with TLS"
    assert set(ours) == {"0100007F"}


def test_a_reshard_closes_every_parent_and_each_child_names_it(streams: Streams, name: str) -> None:
    streams.make(name, 2)
    parents = streams.open_shards(name)
    streams.reshard(name, 4)
    shards = {shard["ShardId"]: shard for shard in streams.shards(name)}
    assert set(streams.open_shards(name)).isdisjoint(parents)
    lineage = {shard: s.get("ParentShardId") for shard, s in shards.items() if shard not in parents}
    assert sorted(str(parent) for parent in lineage.values()) == sorted([*parents, *parents])


def test_a_merge_names_both_parents(streams: Streams, name: str) -> None:
    streams.make(name, 2)
    first, second = streams.open_shards(name)
    streams.reshard(name, 1)
    (child,) = (s for s in streams.shards(name) if s["ShardId"] not in (first, second))
    assert {child["ParentShardId"], child["AdjacentParentShardId"]} == {first, second}


def test_the_filter_at_latest_leaves_ended_shards_out(streams: Streams, name: str) -> None:
    streams.make(name, 2)
    streams.reshard(name, 4)
    latest = streams.client.list_shards(StreamName=name, ShardFilter={"Type": "AT_LATEST"})["Shards"]
    assert [shard["ShardId"] for shard in latest] == streams.open_shards(name)
    assert len(latest) == 4


def test_later_pages_are_asked_for_by_the_token_alone(streams: Streams, name: str) -> None:
    streams.make(name, 101)
    first = streams.client.list_shards(StreamName=name)
    assert len(first["Shards"]) == 100
    assert len(streams.client.list_shards(NextToken=first["NextToken"])["Shards"]) == 1
    with pytest.raises(ClientError, match="InvalidArgumentException"):
        streams.client.list_shards(StreamName=name, NextToken=first["NextToken"])


def test_a_stream_that_is_not_there_is_named(streams: Streams, name: str) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException") as refused:
        streams.client.list_shards(StreamName=name)
    assert name in str(refused.value)


def test_what_was_put_into_an_ended_shard_can_be_read_to_its_end(streams: Streams, name: str) -> None:
    streams.make(name, 1)
    streams.put_into_each(name)
    (parent,) = streams.open_shards(name)
    streams.reshard(name, 2)
    given: dict[str, Any] = {"StreamName": name, "ShardId": parent, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = streams.client.get_shard_iterator(**given)["ShardIterator"]
    answer = streams.client.get_records(ShardIterator=iterator)
    assert [record["Data"].decode().split()[0] for record in answer["Records"]] == [parent]
    assert answer.get("NextShardIterator") is None
    assert {child["ShardId"] for child in answer["ChildShards"]} == set(streams.open_shards(name))
