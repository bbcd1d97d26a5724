"""What `sim` and `up` say in the end."""

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast.cli import main, sim, up


def test_one_of_something_is_not_several(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lived = SimpleNamespace(
        suffered={("call", "fails"): 1, ("call", "hangs"): 2},
        digest=1,
        actions={"fleet": 1, "cap": 2},
        accidents=[],
        unhealed=[],
        complaint=lambda: "",
    )
    monkeypatch.setattr(sim, "live", lambda seed, hours: lived)
    said = [" ".join(line.split()) for line in CliRunner().invoke(main, ["sim"]).output.splitlines()]
    assert said[1:5] == ["fleet 1 action", "cap 2 actions", "fails 1 fault", "hangs 2 faults"]

    scenarios = [SimpleNamespace(name="fleet", actions=1), SimpleNamespace(name="cap", actions=2)]
    demo: Any = SimpleNamespace(hours=1.0, told=1, struck=2, kills=1, scenarios=scenarios, accidents=[])
    up._summary(demo, as_json=False)
    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert told[1:4] == [
        "1.0 virtual hours, 1 event, 2 faults, 1 kill",
        "fleet 1 action ended",
        "cap 2 actions ended",
    ]
