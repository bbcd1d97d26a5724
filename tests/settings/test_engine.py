"""The engine with the settings of a part that it has never seen: a table, names and secrets of its own."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from holdfast.settings import (
    Fault,
    InvalidSettings,
    Loaded,
    Range,
    Said,
    Schema,
    SettingsSource,
    Shape,
    declare,
    environment_name,
    load,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    every_s: int = 5
    path: str = "/healthz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leases:
    stream: str = ""
    lease_s: int = 30
    renew_s: int = 10
    password: str = ""
    zones: tuple[str, ...] = ()
    probe: Probe = Probe()


def names(name: str) -> tuple[str, ...]:
    return (environment_name(name, "LEASES_"),)


def faults(leases: Leases, said: Said) -> Iterator[Fault]:
    if leases.renew_s >= leases.lease_s:
        text = f"{said('renew_s')} against {said('lease_s')}: must be shorter"
        yield Fault(("renew_s", "lease_s"), text)


def warnings(leases: Leases, source: SettingsSource, said: Said) -> Iterator[str]:
    if "zones" in source.spelled and not leases.stream:
        yield f"{said('zones')} has no effect without a stream"


SECONDS = Range(1, 60)
SCHEMA = Schema(
    part="leases",
    title="the leases",
    table=declare(
        Leases,
        "[leases]",
        environment=names,
        ranges={"lease_s": SECONDS, "renew_s": SECONDS},
        shapes={"zones": Shape(r"[a-z]+-\d", "a zone such as eu-1"), "password": Shape(r"\S{8,}|", "longer")},
        secrets={"password"},
        nested={
            "probe": declare(
                Probe,
                "[leases.probe]",
                prefix="probe.",
                environment=names,
                ranges={"every_s": SECONDS},
            )
        },
    ),
    faults=faults,
    warnings=warnings,
)


def loading(file: str = "", **environ: str) -> Loaded[Leases]:
    return load(SCHEMA, tomllib.loads(file), environ)


def problems(file: str = "", **environ: str) -> tuple[str, ...]:
    with pytest.raises(InvalidSettings) as refused:
        loading(file, **environ)
    return refused.value.problems


def test_nothing_given_is_the_defaults() -> None:
    assert loading() == Loaded(Leases())


def test_the_environment_outranks_the_file_also_in_a_nested_table() -> None:
    file = '[leases]\nstream = "a"\nlease_s = 20\n[leases.probe]\nevery_s = 7\npath = "/x"\n'
    found = loading(file, LEASES_STREAM="b", LEASES_PROBE_EVERY_SEC="8").settings
    assert found == Leases(stream="b", lease_s=20, probe=Probe(every_s=8, path="/x"))


def test_the_table_of_another_part_is_left_alone() -> None:
    assert loading("[autoscaler]\ncpu_upp = 3\n") == Loaded(Leases())


def test_all_problems_are_named_at_once_and_no_secret_is_shown() -> None:
    file = '[leases]\nlease_sec = 1\nzones = ["eu-1", "x"]\n[leases.probe]\nevry_s = 3\n[lease]\n'
    assert problems(
        file, LEASES_RENEW_SEC="soon", LEASES_PASSWORD="hunter2", LEASES_PROBE_EVERY_SEC="61"
    ) == (
        "lease: there is no such setting; did you mean leases?",
        "[leases] lease_sec: there is no such setting; did you mean lease_s?",
        "[leases.probe] evry_s: there is no such setting; did you mean every_s?",
        "LEASES_RENEW_SEC = 'soon': give a whole number",
        "LEASES_PASSWORD = (not shown): must be longer",
        "[leases] zones = 'eu-1,x': must be a zone such as eu-1",
        "LEASES_PROBE_EVERY_SEC = 61: must be at least 1 and at most 60",
    )


def test_what_could_not_be_read_is_not_compared_with_others() -> None:
    assert problems(LEASES_LEASE_SEC="5") == (
        "renew_s = 10 (the default) against LEASES_LEASE_SEC = 5: must be shorter",
    )
    assert problems(LEASES_LEASE_SEC="5", LEASES_RENEW_SEC="x") == (
        "LEASES_RENEW_SEC = 'x': give a whole number",
    )


def test_a_near_miss_in_the_environment_and_what_has_no_effect_are_warnings() -> None:
    environ = {"LEASES_STREEM": "a", "HOLDFAST_LEASES_STREAM": "a", "STREAM": "a", "LEASES_ZONES": "eu-1"}
    assert loading(**environ).warnings == (
        "HOLDFAST_LEASES_STREAM is set and means nothing to the leases: did you mean LEASES_STREAM?",
        "LEASES_STREEM is set and means nothing to the leases: did you mean LEASES_STREAM?",
        "LEASES_ZONES = 'eu-1' has no effect without a stream",
    )


def test_two_names_of_one_secret_are_told_without_it() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Door:
        key: str = ""

    table = declare(Door, "[leases]", environment=lambda name: ("KEY", "DOOR_KEY"), secrets={"key"})
    with pytest.raises(InvalidSettings) as refused:
        load(Schema(part="leases", title="the door", table=table), {}, {"KEY": "sesame", "DOOR_KEY": "open"})
    assert refused.value.problems == (
        "KEY = (not shown) and DOOR_KEY = (not shown) are the same setting: leave one out",
    )


def test_a_rule_for_a_setting_that_is_not_there_is_a_defect() -> None:
    with pytest.raises(AssertionError, match="Probe has no evry_s"):
        declare(Probe, "[probe]", ranges={"evry_s": SECONDS})
