"""After its own commit a turn goes on with the look that it has, where that is sound and not longer."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.kernel import (
    Busy,
    Conflict,
    Do,
    Done,
    DriverPorts,
    Event,
    Happened,
    Unknown,
    Versioned,
    Workflow,
    Write,
)
from holdfast.kernel import driver as shipped
from tests.proof import prove
from tests.variants import broken

REUSE_S = 15.0
FROM_RECORD, FROM_LOOK = "launch", "terminate"


@dataclass
class Shell:
    """A number in a store, a clock, and a list of what was done; what is seen is how often it was looked."""

    value: int = 0
    version: int = 0
    now: float = 100.0
    look_takes_s: float = 1.0
    done: list[str] = field(default_factory=list)
    interferes: bool = False
    """Whether another process commits right after our first commit."""

    def ports(self) -> DriverPorts[int, int, str]:
        return DriverPorts(
            read=lambda: Versioned(self.value, self.version, ""),
            look=self._look,
            commit=self._commit,
            commit_id_at=lambda version: None,
            perform=self._perform,
            now_s=lambda: self.now,
            pause=lambda seconds: None,
            new_id=lambda: "id",
            random=lambda: 1.0,
        )

    def _look(self) -> int:
        self.now += self.look_takes_s
        self.done.append("look")
        return self.done.count("look")

    def _commit(self, found: Versioned[int], write: Write[int], commit_id: str) -> Versioned[int]:
        if found.version != self.version:
            raise Conflict("stale")
        self.value, self.version = write.value, self.version + 1
        self.done.append(f"commit {write.value}")
        answer = Versioned(self.value, self.version, commit_id)
        if self.interferes:
            self.interferes, self.version = False, self.version + 1
        return answer

    def _perform(self, effects: tuple[str, ...]) -> list[Happened[object]]:
        self.done += effects
        return [Happened(None) for _ in effects]


def counting(effect: str = FROM_RECORD) -> Workflow[int, int, str]:
    """Writes 1, writes 2, then asks for the effect for ever."""

    def step(value: int, seen: int, now_s: float) -> Any:
        return Write(value + 1, (Event("set", now_s),)) if value < 2 else Do((effect,))

    return Workflow(step, lambda *_: None, reuse_s=REUSE_S, by_record=lambda each: each == FROM_RECORD)


def test_steps_after_an_own_commit_need_no_look() -> None:
    shell = Shell()
    assert shipped.advance(shell.ports(), counting()) == Do((FROM_RECORD,))
    assert shell.done == ["look", "commit 1", "commit 2", FROM_RECORD]


def test_a_workflow_that_says_nothing_looks_before_every_step() -> None:
    shell = Shell()
    shipped.advance(shell.ports(), replace(counting(), reuse_s=0.0))
    assert shell.done == ["look", "commit 1"]


def test_nothing_left_to_do_ends_the_turn_without_another_look() -> None:
    shell = Shell()
    once = replace(counting(), step=lambda value, seen, now_s: Done() if value else _write(1))
    assert shipped.advance(shell.ports(), once) == Done()
    assert shell.done == ["look", "commit 1"]


def _write(value: int) -> Any:
    return Write(value, (Event("set", 0.0),))


def looks_first(driver: Any) -> None:
    """What the record alone does not say is not carried out on a look that is older than the record."""
    shell = Shell()
    driver.advance(shell.ports(), counting(FROM_LOOK))
    assert FROM_LOOK not in shell.done, shell.done
    driver.advance(shell.ports(), counting(FROM_LOOK))
    assert shell.done == ["look", "commit 1", "commit 2", "look", FROM_LOOK]


def rests_on_no_old_look(driver: Any) -> None:
    """A look that took long, or was followed by slow commits, is not gone on with."""
    shell = Shell(look_takes_s=REUSE_S)
    driver.advance(shell.ports(), counting())
    assert shell.done == ["look", "commit 1"]


def notices_another(driver: Any) -> None:
    """Another's commit in between makes the next one a Conflict."""
    shell = Shell(interferes=True)
    with pytest.raises(Conflict):
        driver.advance(shell.ports(), counting())
    assert shell.done == ["look", "commit 1"]


def reads_after_a_lost_answer(driver: Any) -> None:
    """A commit that was found to be ours after a lost answer is read back before anything follows it."""
    shell = Shell()
    ports = shell.ports()

    def lost(found: Versioned[int], write: Write[int], commit_id: str) -> Versioned[int]:
        ports.commit(found, write, commit_id)
        raise Unknown("no answer")

    driver.advance(replace(ports, commit=lost, commit_id_at=lambda version: "id"), counting())
    assert shell.done == ["look", "commit 1"]


def stays_unknown(driver: Any) -> None:
    """A lost answer whose look-up is throttled is not "certainly not written"."""
    ports = Shell().ports()

    def lost(found: Versioned[int], write: Write[int], commit_id: str) -> Versioned[int]:
        ports.commit(found, write, commit_id)
        raise Unknown("no answer")

    def throttled(version: int) -> str | None:
        raise Busy("throttled")

    with pytest.raises(Unknown):
        driver.advance(replace(ports, commit=lost, commit_id_at=throttled), counting())


CLAIMS = (looks_first, rests_on_no_old_look, notices_another, reads_after_a_lost_answer, stays_unknown)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_shipped_driver_keeps_it(claim: Any) -> None:
    assert claim(shipped) is None


VARIANTS = {
    "a termination rests on a look older than the record": (
        "        if isinstance(following, Do) and not all(map(workflow.by_record, following.effects)):\n"
        "            return ahead\n",
        "",
        looks_first,
    ),
    "a look is gone on with however old it is": (
        "now_s - asked_s >= workflow.reuse_s",
        "not workflow.reuse_s",
        rests_on_no_old_look,
    ),
    "the next commit is guarded by the version that was read first": (
        "        found = yield from _commit(ports, found, ahead)\n",
        "        found = yield from _commit(ports, (yield ports.read), ahead)\n",
        notices_another,
    ),
    "a lost answer whose look-up is throttled counts as not written": (
        "        except Busy as error:\n",
        "        except ZeroDivisionError as error:\n",
        stays_unknown,
    ),
    "a lost answer is gone on from as if it had come": (
        "        return None\n",
        "        return Versioned(write.value, found.version + 1, commit_id)\n",
        reads_after_a_lost_answer,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_broken_variants_are_caught(name: str) -> None:
    guard, without, claim = VARIANTS[name]
    variant = broken("holdfast.kernel.driver", {guard: without})
    with pytest.raises((AssertionError, Busy, pytest.fail.Exception)):
        claim(variant)
    prove("variant", name, caught_by="the driver")
