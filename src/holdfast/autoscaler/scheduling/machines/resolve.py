"""Which types meet what a pool requires.

The list of types is asked for anew every few hours, and this is decided from it at every look: a type that
EC2 has added is found, one that it has withdrawn is left out.  What was asked for already stays as the
record's intent says.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from holdfast.autoscaler.settings.requirements import Requirements
from holdfast.cloud import MachineType
from holdfast.kernel import Invalid

NAME: Final = re.compile(r"(?P<letters>[a-z]+)(?P<generation>\d+)[a-z0-9-]*")
MIB_PER_GIB: Final = 1_024

Check = tuple[str, str, Callable[[MachineType], bool]]
"""What is required, as it is written; how to require less; and whether a type meets it."""


def family_of(name: str) -> str:
    return name.partition(".")[0]


def letters_of(name: str) -> str:
    found = NAME.fullmatch(family_of(name))
    return found["letters"] if found else family_of(name)


def generation_of(name: str) -> int:
    found = NAME.fullmatch(family_of(name))
    return int(found["generation"]) if found else 0


def resolved(asked: Requirements, architecture: str, types: Sequence[MachineType]) -> tuple[str, ...]:
    """The types by name, the smallest first.  Raises Invalid that names the first requirement which leaves
    none, with its value and what to do."""
    left = list(types)
    if not left:
        raise Invalid("requirements: EC2 lists no instance type at all in this region; give instance_types")
    for says, fix, holds in _checks(asked, architecture):
        met = [each for each in left if holds(each)]
        if not met:
            none = "the one type that what stands before it leaves does not meet it"
            if len(left) > 1:
                none = f"none of the {len(left)} types that what stands before it leaves meets it"
            raise Invalid(f"{says}: {none}; {fix}, or give instance_types")
        left = met
    return tuple(
        each.name for each in sorted(left, key=lambda each: (each.vcpus, each.memory_mib, each.name))
    )


def unknown_families(asked: Requirements, types: Sequence[MachineType]) -> tuple[str, ...]:
    """Families that EC2 has no type of: misspelled, or not in this region."""
    known = {name for each in types for name in (family_of(each.name), letters_of(each.name))}
    return tuple(
        f"requirements.families = {family!r}: EC2 has no such family here; correct it or leave it out"
        for family in asked.families
        if family not in known
    )


def _checks(asked: Requirements, architecture: str) -> Iterator[Check]:
    """In the order in which they are told."""
    yield (
        f"architecture = {architecture!r}",
        "give the other one",
        lambda each: each.shape.architecture == architecture,
    )
    if asked.families:
        families = set(asked.families)
        yield (
            f"requirements.families = {', '.join(asked.families)!r}",
            "name others",
            lambda each: bool({family_of(each.name), letters_of(each.name)} & families),
        )
    if asked.generations:
        yield (
            f"requirements.generations = {', '.join(map(str, asked.generations))!r}",
            "name others",
            lambda each: generation_of(each.name) in asked.generations,
        )
    yield from _sizes(asked)
    if asked.excluded_types:
        yield (
            f"requirements.excluded_types = {', '.join(asked.excluded_types)!r}",
            "exclude fewer",
            lambda each: not any(_matches(pattern, each.name) for pattern in asked.excluded_types),
        )
    if asked.local_disk is not None:
        yield (
            f"requirements.local_disk = {str(asked.local_disk).lower()}",
            "leave it out",
            lambda each: bool(each.local_disk_gib) == asked.local_disk,
        )
    if not asked.burstable:
        yield "requirements.burstable = false", "set it to true", lambda each: not each.burstable
    yield from _usual(asked)


def _matches(pattern: str, name: str) -> bool:
    """A star stands for anything."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None


def _sizes(asked: Requirements) -> Iterator[Check]:
    least, most = asked.memory_gib_min * MIB_PER_GIB, asked.memory_gib_max * MIB_PER_GIB
    yield (
        f"requirements.vcpus_min = {asked.vcpus_min}",
        "lower it",
        lambda each: each.vcpus >= asked.vcpus_min,
    )
    if asked.vcpus_max:
        yield (
            f"requirements.vcpus_max = {asked.vcpus_max}",
            "raise it",
            lambda each: each.vcpus <= asked.vcpus_max,
        )
    yield (
        f"requirements.memory_gib_min = {asked.memory_gib_min:g}",
        "lower it",
        lambda each: each.memory_mib >= least,
    )
    if most:
        yield (
            f"requirements.memory_gib_max = {asked.memory_gib_max:g}",
            "raise it",
            lambda each: each.memory_mib <= most,
        )


def _usual(asked: Requirements) -> Iterator[Check]:
    """No bare metal; no accelerators and nothing that is no longer current, unless their family is named."""
    named = set(asked.families)

    def usual(each: MachineType) -> bool:
        by_name = bool({family_of(each.name), letters_of(each.name)} & named)
        return by_name or (not each.accelerated and (each.current or bool(asked.generations)))

    yield (
        "requirements (bare metal is left out)",
        "name a family that has other sizes too",
        lambda each: not each.bare_metal,
    )
    yield (
        "requirements (accelerators and old generations are left out)",
        "name their families to have them",
        usual,
    )
