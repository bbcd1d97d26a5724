"""The scripted metadata service by itself."""

import json
import urllib.error
import urllib.request
from http.client import RemoteDisconnected

import pytest
from botocore.utils import InstanceMetadataFetcher

from tests.real.traces import wait_until
from tools.parts.catalog.imds import Imds
from tools.parts.imds.client import Refused, get, open_session
from tools.parts.imds.server import TTL


def test_nothing_is_told_without_a_token(imds: Imds) -> None:
    endpoint = imds.put("i-1")
    assert get(endpoint, "meta-data/instance-id")[0] == 401
    assert get(endpoint, "meta-data/instance-id", "made-up")[0] == 401
    assert get(endpoint, "meta-data/instance-id", open_session(endpoint)) == (200, "i-1")


def test_a_token_runs_out(imds: Imds) -> None:
    endpoint = imds.put("i-2")
    token = open_session(endpoint, ttl_s=1)
    assert get(endpoint, "meta-data/instance-id", token)[0] == 200
    wait_until(lambda: get(endpoint, "meta-data/instance-id", token)[0] == 401, "the token has run out")


def test_the_token_of_one_instance_is_nothing_to_another(imds: Imds) -> None:
    mine, other = imds.put("i-3"), imds.put("i-4")
    assert get(other, "meta-data/instance-id", open_session(mine))[0] == 401


@pytest.mark.parametrize("ttl", ["", "0", "21601", "soon"])
def test_a_session_of_no_sensible_length_is_refused(imds: Imds, ttl: str) -> None:
    endpoint = imds.put("i-5")
    headers = {TTL: ttl} if ttl else {}
    request = urllib.request.Request(f"{endpoint}/latest/api/token", headers=headers, method="PUT")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    refused.value.close()
    assert refused.value.code == 400


def test_an_instance_reads_about_itself(imds: Imds) -> None:
    endpoint = imds.put(
        "i-6",
        instance_type="c6g.large",
        zone="eu-central-1b",
        life_cycle="spot",
        local_ipv4="10.1.2.3",
        tags={"Name": "worker", "pool": "default"},
        user_data=b"#!/bin/sh\n",
    )
    token = open_session(endpoint)
    told = {
        "instance-type": "c6g.large",
        "placement/availability-zone": "eu-central-1b",
        "placement/region": "eu-central-1",
        "instance-life-cycle": "spot",
        "local-ipv4": "10.1.2.3",
        "local-hostname": "ip-10-1-2-3.eu-central-1.compute.internal",
        "tags/instance/pool": "default",
        "tags/instance": "Name\npool",
        "placement/": "availability-zone\nregion",
    }
    assert {path: get(endpoint, f"meta-data/{path}", token) for path in told} == {
        path: (200, text) for path, text in told.items()
    }
    assert get(endpoint, "user-data", token) == (200, "#!/bin/sh\n")
    identity = json.loads(get(endpoint, "dynamic/instance-identity/document", token)[1])
    assert (identity["instanceId"], identity["region"]) == ("i-6", "eu-central-1")


def test_there_is_no_notice_until_one_is_given_and_then_its_time_stands_still(imds: Imds) -> None:
    endpoint = imds.put("i-7", life_cycle="spot")
    token = open_session(endpoint)
    paths = {"spot/instance-action": "time", "events/recommendations/rebalance": "noticeTime"}
    assert {get(endpoint, f"meta-data/{path}", token)[0] for path in paths} == {404}
    times = {
        "spot/instance-action": imds.interrupt("i-7"),
        "events/recommendations/rebalance": imds.rebalance("i-7"),
    }
    for path, key in paths.items():
        told = [json.loads(get(endpoint, f"meta-data/{path}", token)[1])[key] for _ in range(3)]
        assert told == [times[path]] * 3


def test_one_instance_can_have_a_port_to_itself(imds: Imds) -> None:
    imds.put("i-8")
    alone = imds.own_port("i-8")
    assert get(alone, "meta-data/instance-id", open_session(alone)) == (200, "i-8")


def test_an_instance_that_is_gone_answers_nothing(imds: Imds) -> None:
    endpoint = imds.put("i-9")
    token = open_session(endpoint)
    imds.remove("i-9")
    with pytest.raises((RemoteDisconnected, urllib.error.URLError)):
        get(endpoint, "meta-data/spot/instance-action", token)


def test_a_misspelt_fact_is_named(imds: Imds) -> None:
    with pytest.raises(Refused, match="no such field: lifecycle"):
        imds.put("i-10", lifecycle="spot")


def test_an_aws_client_gets_the_credentials_of_the_role(imds: Imds) -> None:
    endpoint = imds.put("i-0123456789abcdef0", role="worker")
    fetcher = InstanceMetadataFetcher(base_url=f"{endpoint}/", num_attempts=1)
    lent = fetcher.retrieve_iam_role_credentials()
    assert lent["role_name"] == "worker"
    assert lent["token"] == "session-of-i-0123456789abcdef0"
    imds.put("i-11")
    assert InstanceMetadataFetcher(base_url=imds.endpoint("i-11") + "/").retrieve_iam_role_credentials() == {}
