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

Check = tuple[str, Callable[[MachineType], bool]]
"""What is required, as it is written, and whether a type meets it."""


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
    for says, holds in _checks(asked, architecture):
        met = [each for each in left if holds(each)]
        if not met:
            raise Invalid(
                f"requirements.{says}: none of the {len(left)} types that meet what stands before it does; "
                "widen it, or give instance_types"
            )
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
    yield f"architecture = {architecture!r}", lambda each: each.shape.architecture == architecture
    if asked.families:
        families = set(asked.families)
        yield (
            f"families = {', '.join(asked.families)!r}",
            lambda each: bool({family_of(each.name), letters_of(each.name)} & families),
        )
    if asked.generations:
        yield (
            f"generations = {', '.join(map(str, asked.generations))!r}",
            lambda each: generation_of(each.name) in asked.generations,
        )
    yield from _sizes(asked)
    if asked.excluded_types:
        yield (
            f"excluded_types = {', '.join(asked.excluded_types)!r}",
            lambda each: not any(_matches(pattern, each.name) for pattern in asked.excluded_types),
        )
    if asked.local_disk is not None:
        yield (
            f"local_disk = {str(asked.local_disk).lower()}",
            lambda each: bool(each.local_disk_gib) == asked.local_disk,
        )
    if not asked.burstable:
        yield "burstable = false", lambda each: not each.burstable
    yield from _usual(asked)


def _matches(pattern: str, name: str) -> bool:
    """A star stands for anything."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None


def _sizes(asked: Requirements) -> Iterator[Check]:
    yield f"vcpus_min = {asked.vcpus_min}", lambda each: each.vcpus >= asked.vcpus_min
    if asked.vcpus_max:
        yield f"vcpus_max = {asked.vcpus_max}", lambda each: each.vcpus <= asked.vcpus_max
    least, most = asked.memory_gib_min * MIB_PER_GIB, asked.memory_gib_max * MIB_PER_GIB
    yield f"memory_gib_min = {asked.memory_gib_min:g}", lambda each: each.memory_mib >= least
    if most:
        yield f"memory_gib_max = {asked.memory_gib_max:g}", lambda each: each.memory_mib <= most


def _usual(asked: Requirements) -> Iterator[Check]:
    """No bare metal; no accelerators and nothing that is no longer current, unless their family is named."""
    named = set(asked.families)

    def usual(each: MachineType) -> bool:
        if each.bare_metal:
            return False
        by_name = bool({family_of(each.name), letters_of(each.name)} & named)
        return by_name or (not each.accelerated and (each.current or bool(asked.generations)))

    yield "families (bare metal, accelerators and old generations are left out unless named)", usual
