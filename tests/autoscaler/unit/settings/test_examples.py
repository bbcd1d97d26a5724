"""The examples are what they say."""

import tomllib
from pathlib import Path

from holdfast.autoscaler.settings.load import load

EXAMPLES = Path(__file__).parents[4] / "examples"


def test_the_example_settings_make_sense_each_and_together() -> None:
    loaded = load(tomllib.loads((EXAMPLES / "holdfast.toml").read_text()), {})
    assert loaded.warnings == ()
    assert loaded.settings.pools[0].instance_types == ("m5.large", "m5a.large")
