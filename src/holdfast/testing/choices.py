"""Visit every path through code that makes choices.

    for choose in every_run():
        ...choose(3)...        # all three answers, on some run, in order

A run is a list of (answer, options) pairs, and the next run is the same list counted up
by one from the right.
"""

from collections.abc import Callable, Iterator

Choose = Callable[[int], int]


def every_run(*, limit: int = 1_000_000) -> Iterator[Choose]:
    trail: list[tuple[int, int]] = []
    for _ in range(limit):
        cursor = 0

        def choose(options: int) -> int:
            nonlocal cursor
            if cursor == len(trail):
                trail.append((0, options))
            answer, seen = trail[cursor]
            assert seen == options, "the run must depend on nothing but its choices"
            cursor += 1
            return answer

        yield choose
        del trail[cursor:]
        while trail and trail[-1][0] + 1 == trail[-1][1]:
            trail.pop()
        if not trail:
            return
        answer, options = trail.pop()
        trail.append((answer + 1, options))
    raise AssertionError(f"more than {limit} runs")


def replay(answers: list[int]) -> Choose:
    """The run that gave these answers; beyond them, always the first option."""
    left = iter(answers)
    return lambda options: next(left, 0)
