"""Calls that fail on purpose: refused before anything happens, or done and then unheard."""

from dataclasses import dataclass, field

from tools.parts.ec2.api.errors import AwsError


@dataclass
class Fault:
    """The next `times` calls of an action meet this.

    `when` is "before" (refused, nothing done), "after" (done, and answered with the
    error all the same) or "lost" (done, and the connection is cut).
    """

    action: str
    code: str
    status: int
    when: str
    times: int


@dataclass
class Faults:
    _waiting: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        self._waiting.append(fault)

    def clear(self) -> None:
        self._waiting.clear()

    def next(self, action: str) -> Fault | None:
        """Use one fault up, if one waits for this action."""
        for fault in self._waiting:
            if fault.action == action and fault.times > 0:
                fault.times -= 1
                return fault
        return None


def refusal(fault: Fault) -> AwsError:
    return AwsError(fault.code, f"{fault.action} met a fault that was asked for.", fault.status)
