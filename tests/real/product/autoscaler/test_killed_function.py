"""The Lambda function, whose processes are killed in every phase: the fleet ends as if they had not been."""

from tests.real.product.autoscaler.enduring import assert_survives
from tools.endure.ground import Ground
from tools.endure.shells import LambdaShell


def test_the_function_survives_its_kills_and_every_machine_is_accounted_for(ground: Ground) -> None:
    assert_survives(ground, LambdaShell(ground), seed=12)
