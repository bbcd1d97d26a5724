"""Why a node stays that no pod of it is to blame for, in the same words as the rules of draining."""

from holdfast.autoscaler.scale_down.drain import Blocker, Rule
from holdfast.cloud.text import counted, lasting


def not_ours() -> Blocker:
    return Blocker(
        Rule.NOT_OURS,
        "",
        "its machine carries no action of Holdfast: another tool or a person made it, and removes it",
        "remove it yourself; a worker that Holdfast launches in its place can leave again",
    )


def control_plane() -> Blocker:
    return Blocker(
        Rule.CONTROL_PLANE, "", "it runs the control plane", "nothing: the control plane is never removed"
    )


def cordoned(name: str) -> Blocker:
    return Blocker(
        Rule.CORDONED,
        "",
        "a person cordoned it, and may be at work there",
        f"kubectl uncordon {name}, or remove it yourself",
    )


def disabled(name: str, annotation: str) -> Blocker:
    return Blocker(
        Rule.DISABLED,
        "",
        f'it carries the annotation {annotation}: "true"',
        f"kubectl annotate node {name} {annotation}-",
    )


def not_in_service(why: str, remedy: str) -> Blocker:
    return Blocker(Rule.NOT_IN_SERVICE, "", why, remedy)


def leaving(why: str) -> Blocker:
    return Blocker(Rule.LEAVING, "", why, "nothing: it goes by itself")


def floor(there: int, least: int) -> Blocker:
    return Blocker(
        Rule.FLOOR,
        "",
        f"{counted(there, 'worker is', 'workers are')} in service, and MIN_WORKERS is {least}",
        f"lower MIN_WORKERS below {there}, or let the fleet scale up first",
    )


def pool_floor(pool: str, there: int, least: int) -> Blocker:
    return Blocker(
        Rule.POOL_FLOOR,
        "",
        f"pool {pool} has {counted(there, 'worker')} in service, and its min_workers is {least}",
        f"lower min_workers of pool {pool} below {there}",
    )


def last_of_zone(zone: str) -> Blocker:
    return Blocker(
        Rule.LAST_OF_ZONE,
        "",
        f"it is the last worker in zone {zone}, and other zones have some",
        f"start a second worker in {zone}; or turn off keep_last_of_zone (KEEP_LAST_OF_ZONE) if no zone must "
        "live on when the others fail",
    )


def just_failed(why: str, left_s: float) -> Blocker:
    return Blocker(
        Rule.JUST_FAILED,
        "",
        f"it was tried and kept: {why}",
        f"mend that, if it was not meant so; it is tried again in {lasting(left_s)}",
    )


def nowhere_else(why: str) -> Blocker:
    """`why` begins with the name of the pod."""
    return Blocker(
        Rule.NOWHERE_ELSE,
        why.partition(" ")[0],
        why,
        "make room on other nodes, lower what it asks for, or widen where it may run; if the reason is "
        "something that is not considered yet and it may run anywhere, annotate it as safe to evict",
    )


def spare(why: str) -> Blocker:
    return Blocker(
        Rule.SPARE,
        "",
        f"it keeps the {why}",
        "lower spare of that pool, or let the fleet scale up first",
    )
