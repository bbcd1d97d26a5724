"""`holdfast autoscaler run`, killed in every phase: the fleet ends as if it had not been."""

from tests.real.product.autoscaler.enduring import assert_survives
from tools.endure.ground import Ground
from tools.endure.shells import LoopShell


def test_the_loop_survives_its_kills_and_every_machine_is_accounted_for(ground: Ground) -> None:
    assert_survives(ground, LoopShell(ground), seed=11)
