"""Quantities as Kubernetes writes them."""

import pytest

from holdfast.cloud.quantity import cpu_m, memory, whole


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("250m", 250),
        ("2", 2_000),
        (2, 2_000),
        (0.5, 500),
        ("0.1", 100),
        ("1.5", 1_500),
        ("+1", 1_000),
        (".5", 500),
        ("5.", 5_000),
        ("100u", 1),
        ("1n", 1),
        ("1500000n", 2),
        ("1e3", 1_000_000),
        ("1e-1", 100),
        ("0", 0),
        ("-1", -1_000),
    ],
)
def test_cores(text: str | int | float, thousandths: int) -> None:
    assert cpu_m(text) == thousandths


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("128Mi", 128 << 20),
        ("1Ki", 1024),
        ("1.5Gi", 3 << 29),
        ("2Ti", 2 << 40),
        ("1Pi", 1 << 50),
        ("1Ei", 1 << 60),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1E2", 100),
        ("12e6", 12_000_000),
        ("1E+3", 1_000),
        ("100m", 1),
        ("3974536Ki", 3974536 * 1024),
        (4096, 4096),
        (1e3, 1000),
    ],
)
def test_bytes(text: str | int | float, size: int) -> None:
    assert memory(text) == size
    assert whole(text) == size


@pytest.mark.parametrize(
    "text", ["", "m", "1 Gi", "1gi", "1Mib", "0x10", "1e", "1e3Ki", "٣", "1\n", "nan", "1e999"]
)
def test_what_is_none_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity") as error:
        cpu_m(text)
    assert repr(text) in str(error.value)
