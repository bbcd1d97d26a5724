"""What AWS's price list is asked for, what its answers mean, and how long a look waits for them."""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from holdfast.adapters.aws.ec2.catalog import PRICES_KEPT_S, Catalog
from holdfast.adapters.aws.errors import Denied
from holdfast.adapters.aws.price_list import KEPT_S, LIMIT_S, PAUSE_S, PriceList, make_client, on_demand_usd
from holdfast.app.autoscaler import clients
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import Market, Offering
from holdfast.kernel import Busy
from tests.receiver import receiving

ASKED = {
    "ServiceCode": "AmazonEC2",
    "Filters": [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in (
            ("instanceType", "m5.large"),
            ("regionCode", "eu-central-1"),
            ("operatingSystem", "Linux"),
            ("preInstalledSw", "NA"),
            ("tenancy", "Shared"),
            ("capacitystatus", "Used"),
        )
    ],
    "MaxResults": 100,
}


def sold(usd: str, *, unit: str = "Hrs", currency: str = "USD", term: str = "OnDemand") -> str:
    """One product, in the shape that the list has."""
    dimension = {"unit": unit, "pricePerUnit": {currency: usd}, "beginRange": "0", "endRange": "Inf"}
    terms = {"SKU.JRTCKXETXF": {"offerTermCode": "JRTCKXETXF", "priceDimensions": {"SKU.6YS6": dimension}}}
    return json.dumps({"product": {"attributes": {"instanceType": "m5.large"}}, "terms": {term: terms}})


@pytest.mark.parametrize(
    ("products", "usd"),
    [
        ((sold("0.1150000000"),), 0.115),
        ((), None),
        ((sold("0.0000000000"), sold("0.115")), 0.115),
        ((sold("0.115"), sold("0.120")), 0.12),
        ((sold("0.9", currency="CNY"),), None),
        ((sold("500", unit="Quantity"),), None),
        ((sold("0.07", term="Reserved"),), None),
    ],
)
def test_the_price_of_the_plain_machine_an_hour_is_asked(
    products: tuple[str, ...], usd: float | None, aws_identity: None
) -> None:
    client: Any = make_client(region="eu-central-1")
    with Stubber(client) as stub:
        stub.add_response("get_products", {"FormatVersion": "aws_v1", "PriceList": list(products)}, ASKED)
        assert on_demand_usd(client, "eu-central-1", "m5.large") == usd
        stub.assert_no_pending_responses()


@pytest.mark.parametrize("told", ["<html>", "[]", '{"terms": {"OnDemand": {"x": {}}}}'])
def test_what_is_no_price_list_is_worth_another_try(told: str, aws_identity: None) -> None:
    client: Any = make_client(region="eu-central-1")
    with Stubber(client) as stub:
        stub.add_response("get_products", {"FormatVersion": "aws_v1", "PriceList": [told]})
        with pytest.raises(Busy, match=r"pricing:GetProducts: the answer for m5\.large is not a price list"):
            on_demand_usd(client, "eu-central-1", "m5.large")


def test_a_missing_grant_is_named(aws_identity: None) -> None:
    client: Any = make_client(region="eu-central-1")
    with Stubber(client) as stub:
        stub.add_client_error("get_products", "AccessDeniedException", "not authorized", 400)
        with pytest.raises(Denied, match="grant the role this action: pricing:GetProducts"):
            on_demand_usd(client, "eu-central-1", "m5.large")


@pytest.mark.parametrize(
    ("region", "home"),
    [
        ("us-west-2", "us-east-1"),
        ("eu-west-3", "eu-central-1"),
        ("ap-northeast-1", "ap-south-1"),
        ("sa-east-1", "us-east-1"),
        ("cn-north-1", "cn-northwest-1"),
    ],
)
def test_the_list_is_asked_where_it_is_and_not_waited_for(region: str, home: str, aws_identity: None) -> None:
    client: Any = make_client(region=region)
    config = client.meta.config
    assert client.meta.region_name == home
    assert (config.connect_timeout, config.read_timeout) == (LIMIT_S, LIMIT_S)
    assert config.retries["total_max_attempts"] == 1


class Shop:
    """A price list that costs time, and may fail."""

    def __init__(self, prices: Mapping[str, str]) -> None:
        self.prices, self.now_s, self.takes_s = prices, 1_000.0, 0.1
        self.fails: Exception | None = None
        self.asked: list[str] = []
        self.made = 0

    def client(self) -> "Shop":
        self.made += 1
        return self

    def get_products(self, *, ServiceCode: str, Filters: Any, MaxResults: int) -> Any:  # noqa: N803
        self.now_s += self.takes_s
        kind = Filters[0]["Value"]
        self.asked.append(kind)
        if self.fails is not None:
            raise self.fails
        return {"PriceList": [sold(self.prices[kind])] if kind in self.prices else []}

    def open(self) -> PriceList:
        return PriceList(self.client, "eu-central-1", lambda: self.now_s)


AWAY = EndpointConnectionError(endpoint_url="https://api.pricing.eu-central-1.amazonaws.com/")


def test_a_price_is_kept_for_a_day_and_so_is_that_there_is_none() -> None:
    shop = Shop({"m5.large": "0.115"})
    listed = shop.open()
    assert shop.made == 0
    for _ in range(2):
        assert listed.usd(["m5.large", "x9.large"]) == {"m5.large": 0.115}
    assert shop.asked == ["m5.large", "x9.large"]
    shop.now_s += KEPT_S
    shop.prices = {"m5.large": "0.120"}
    assert listed.usd(["m5.large"]) == {"m5.large": 0.12}
    assert shop.made == 1


def test_a_look_does_not_wait_for_many_and_the_next_one_goes_on() -> None:
    shop = Shop({f"m5.{n}xlarge": "0.1" for n in range(9)})
    shop.takes_s = 0.35 * LIMIT_S
    listed = shop.open()
    found = [len(listed.usd(list(shop.prices))) for _ in range(3)]
    assert found == [3, 6, 9]
    assert listed.problem == ""


def test_a_list_that_does_not_answer_is_left_alone_for_a_while_and_what_is_known_stays() -> None:
    shop = Shop({"m5.large": "0.115", "c5.large": "0.1"})
    listed = shop.open()
    assert listed.usd(["m5.large"]) == {"m5.large": 0.115}
    shop.fails = AWAY
    for _ in range(3):
        assert listed.usd(["m5.large", "c5.large"]) == {"m5.large": 0.115}
        assert "Could not connect" in listed.problem
    assert shop.asked == ["m5.large", "c5.large"]
    shop.now_s, shop.fails = shop.now_s + PAUSE_S + 1, None
    assert listed.usd(["c5.large"]) == {"c5.large": 0.1}
    assert listed.problem == ""


def test_a_clock_that_steps_back_silences_the_list_for_no_longer() -> None:
    shop = Shop({"m5.large": "0.115"})
    listed = shop.open()
    shop.fails = AWAY
    assert listed.usd(["m5.large"]) == {}
    shop.now_s, shop.fails = shop.now_s - 86_400, None
    assert listed.usd(["m5.large"]) == {"m5.large": 0.115}


def test_the_settings_prices_come_first_and_of_the_others_the_list_is_asked() -> None:
    shop = Shop({"m5.large": "0.115", "c5.large": "0.1"})
    no_client: Any = None
    catalog = Catalog(
        no_client,
        pods_per_node=110,
        on_demand_usd={"m5.large": 0.05},
        price_list=shop.open(),
        now_s=lambda: shop.now_s,
        page=100,
    )
    named, other, none = (
        Offering("a", Market.ON_DEMAND, kind) for kind in ("m5.large", "c5.large", "x9.large")
    )
    found = catalog.prices([named, other, none])
    assert found.of == {named: 0.05, other: 0.1}
    assert shop.asked == ["c5.large", "x9.large"]
    shop.fails = AWAY
    shop.now_s += KEPT_S + PRICES_KEPT_S
    assert "pricing:GetProducts" in catalog.prices([named, other]).problem
    assert catalog.prices([named]).problem == ""


def test_by_the_settings_a_real_request_goes_to_the_list_and_only_if_they_say_so(
    aws_identity: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ec2: Any = SimpleNamespace(meta=SimpleNamespace(region_name="eu-west-1"))
    assert clients.price_list(Settings(), {}, ec2) is None
    with receiving() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", server.url.removesuffix("/secret-path"))
        server.body = json.dumps({"FormatVersion": "aws_v1", "PriceList": [sold("0.107")]}).encode()
        listed = clients.price_list(Settings(on_demand_prices="price-list"), {}, ec2)
        assert listed is not None
        assert listed.usd(["m5.large"]) == {"m5.large": 0.107}
        ((headers, body),) = server.got
    assert headers["x-amz-target"] == "AWSPriceListService.GetProducts"
    assert {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "eu-west-1"} in json.loads(body)["Filters"]
