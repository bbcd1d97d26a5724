"""A share of the groups is revoked within a minute, and no more; one that is lost again counts once."""

from holdfast.failover.clockwork import Revocations


def test_the_groups_of_the_last_minute_are_counted() -> None:
    seen = Revocations(share=0.1, at_least=3)
    for n in range(3):
        assert seen.may(100.0, 10, f"g-{n}")
        seen = seen.noted(100.0, f"g-{n}")
    assert not seen.may(110.0, 10, "g-9"), "a fourth one is left to an operator"
    assert seen.may(110.0, 100, "g-9"), "in a larger fleet it is no large share"
    assert seen.may(161.0, 10, "g-9"), "a minute later it is another matter"


def test_a_group_that_is_lost_again_and_again_is_helped_each_time() -> None:
    seen = Revocations(share=0.1, at_least=3)
    for at_s in range(20):
        assert seen.may(float(at_s), 1, "g-1")
        seen = seen.noted(float(at_s), "g-1")
    assert seen.may(20.0, 1, "g-2")
