"""Processes, their threads and their deaths in virtual time."""

from collections.abc import Callable
from functools import partial

from holdfast.sim.gate import Crash, Fate, Kind
from holdfast.sim.world import Call, Process, World


def counting(process: Process, done: list[str], name: str) -> Callable[[], str]:
    def call() -> str:
        done.append(process.call(name, Kind.CHANGE, lambda: name))
        return name

    return call


def test_threads_take_as_long_as_one_and_answer_in_order() -> None:
    world, done, answers = World(1), list[str](), list[str]()

    def main(process: Process) -> None:
        began_s = process.now_s()
        answers.extend(process.together([counting(process, done, f"c{n}") for n in range(20)]))
        assert process.now_s() - began_s < 0.13, "side by side"

    world.spawn("p", main)
    world.run(world.now + 60)

    assert answers == [f"c{n}" for n in range(20)]
    assert sorted(done) == sorted(answers) != done, "the world decides the order"
    assert not world.processes


def test_no_more_threads_than_the_width() -> None:
    world, done = World(1), list[str]()

    def main(process: Process) -> None:
        began_s = process.now_s()
        process.together([counting(process, done, f"c{n}") for n in range(20)], width=2)
        assert process.now_s() - began_s > 0.4

    world.spawn("p", main)
    world.run(world.now + 60)

    assert len(done) == 20


def test_a_thread_that_dies_takes_its_process_and_all_its_threads_with_it() -> None:
    world, done, after = World(1), list[str](), list[str]()

    def main(process: Process) -> None:
        process.together([counting(process, done, f"c{n}") for n in range(20)], width=3)
        after.append("alive")

    def strike(process: Process, call: Call, fate: Fate) -> None:
        if call.name == "c7":
            raise Crash("here")

    world.on_call = strike
    process = world.spawn("p", main)
    world.run(world.now + 60)

    assert not after
    assert len(done) < 12
    assert not process.alive
    assert not world.processes


def test_a_process_killed_while_it_waits_for_threads_is_dead_with_them() -> None:
    world, done, after = World(1), list[str](), list[str]()

    def main(process: Process) -> None:
        process.together([counting(process, done, f"c{n}") for n in range(50)], width=2)
        after.append("alive")

    process = world.spawn("p", main)
    world.after(0.5, partial(process.kill))
    world.run(world.now + 60)

    assert 0 < len(done) < 40
    assert not after
    assert not world.processes
