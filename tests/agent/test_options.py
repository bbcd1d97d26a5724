"""What an agent is told on its command line: every mistake is named before anything is begun."""

from pathlib import Path

import pytest

from holdfast.agent.options import IMDS, Options, Problem, check, parser
from holdfast.failover.agent.goals import Hook

GOOD = ["--server", "https://a.example:7400", "--protect", "unit:db.service"]


@pytest.fixture
def hooks(tmp_path: Path) -> list[str]:
    for hook in Hook:
        (tmp_path / hook).write_text("#!/bin/sh\n")
        (tmp_path / hook).chmod(0o755)
    return ["--hooks", str(tmp_path)]


def checked(*argv: str) -> Options:
    return check(parser().parse_args(argv))


def problems(*argv: str) -> str:
    with pytest.raises(Problem) as caught:
        checked(*argv)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "ftp://a.example",
        "https://",
        "https://a:99999",
        "https://a:x",
        "https://a:0",
        "https://[::1",
    ],
)
def test_what_is_no_url_is_refused_at_the_start_and_not_asked_for_ever(hooks: list[str], url: str) -> None:
    assert f"--server {url}: not a URL" in problems(*GOOD, *hooks, "--server", url)
    if url:
        assert f"--imds {url}: not a URL" in problems(*GOOD, *hooks, "--imds", url)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1", "http://localhost.example", "http://127.0.0.1@a.example", "http://0.0.0.0"]
)
def test_a_token_travels_in_the_clear_to_this_machine_only(hooks: list[str], url: str) -> None:
    assert "in the clear: use https" in problems(*GOOD, *hooks, "--server", url)
    for near in ("http://127.0.0.1:7400", "http://localhost:7400/", "http://[::1]:7400"):
        assert near.rstrip("/") in checked(*GOOD, *hooks, "--server", near).servers


def test_the_metadata_service_may_be_another_or_off(
    hooks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(*GOOD, *hooks).imds == IMDS
    assert checked(*GOOD, *hooks, "--imds", "off").imds == ""
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9/")
    assert checked(*GOOD, *hooks).imds == "http://127.0.0.1:9"


def test_each_hook_must_be_there_and_may_be_run(hooks: list[str]) -> None:
    folder = Path(hooks[1])
    (folder / "health").chmod(0o644)
    (folder / "sync-status").unlink()
    said = problems(*GOOD, *hooks)
    assert f"{folder}/health is not executable" in said
    assert f"{folder}/sync-status is missing" in said


@pytest.mark.parametrize(
    "limit", ["on-promote=nan", "on-promote=inf", "on-promote=0", "on-promote", "other=5"]
)
def test_a_hook_without_a_sensible_limit_is_refused(hooks: list[str], limit: str) -> None:
    assert f"--limit {limit}" in problems(*GOOD, *hooks, "--limit", limit)


@pytest.mark.parametrize("protect", ["", "db.service", "pid:x", "unit:", "unit:db", "cgroups:/x", "command:"])
def test_what_the_watchdog_could_not_stop_is_refused(hooks: list[str], protect: str) -> None:
    assert "--protect" in problems("--server", "https://a.example", *hooks, "--protect", protect)
