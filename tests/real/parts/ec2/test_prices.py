"""Spot prices as a test sets them."""

import time
from datetime import UTC, datetime

from tests.real.account import Account


def history(account: Account, **asked: object) -> list[tuple[str, str, str]]:
    found = account.api.describe_spot_price_history(**asked)["SpotPriceHistory"]
    return [(price["InstanceType"], price["AvailabilityZone"], price["SpotPrice"]) for price in found]


def test_a_price_is_read_back_for_its_pool(account: Account) -> None:
    account.ec2.set_price("m5.large", "us-east-1a", "0.035")
    account.ec2.set_price("m5.large", "us-east-1b", "0.041")
    account.ec2.set_price("c5.large", "us-east-1a", "0.033")
    assert sorted(history(account, InstanceTypes=["m5.large"], ProductDescriptions=["Linux/UNIX"])) == [
        ("m5.large", "us-east-1a", "0.035"),
        ("m5.large", "us-east-1b", "0.041"),
    ]
    assert history(account, AvailabilityZone="us-east-1b") == [("m5.large", "us-east-1b", "0.041")]
    assert history(account, InstanceTypes=["m5.large"], ProductDescriptions=["Windows"]) == []


def test_a_span_begins_with_the_price_that_was_in_force(account: Account) -> None:
    now_s = time.time()
    for age_s, price in ((300, "0.03"), (200, "0.04"), (100, "0.05")):
        account.ec2.set_price("m5.large", "us-east-1a", price, at_s=now_s - age_s)
    since = datetime.fromtimestamp(now_s - 150, UTC)
    assert [price for _, _, price in history(account, StartTime=since)] == ["0.05", "0.04"]
    assert [price for _, _, price in history(account, EndTime=since)] == ["0.04", "0.03"]


def test_a_long_history_comes_in_pages(account: Account) -> None:
    now_s = time.time()
    for n in range(5):
        account.ec2.set_price("m5.large", "us-east-1a", f"0.0{n}", at_s=now_s - n)
    pages = account.api.get_paginator("describe_spot_price_history").paginate(
        PaginationConfig={"PageSize": 2}
    )
    assert [len(page["SpotPriceHistory"]) for page in pages] == [2, 2, 1]
