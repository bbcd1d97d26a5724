"""A command that is not quite right is told what was meant; `-h` and completion work everywhere."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from holdfast.autoscaler.settings.load import SCHEMA
from holdfast.cli import main


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("autoscaler", "statsu"), "did you mean `holdfast autoscaler status`?"),
        (("autoscaler", "hstory"), "did you mean `holdfast autoscaler history`?"),
        (("status",), "did you mean `holdfast autoscaler status`?"),
        (("autoscale",), "did you mean `holdfast autoscaler`?"),
        (("autoscaler", "qqqqq"), "there is no command 'qqqqq'; see `holdfast autoscaler --help`"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(
    words: tuple[str, ...], says: str
) -> None:
    done = CliRunner().invoke(main, words, prog_name="holdfast")

    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.parametrize("words", [(), ("autoscaler",), ("autoscaler", "status"), ("up",)])
def test_h_is_help(words: tuple[str, ...]) -> None:
    short, long = (
        CliRunner().invoke(main, (*words, flag), prog_name="holdfast") for flag in ("-h", "--help")
    )

    assert short.exit_code == 0
    assert short.output == long.output
    assert "-h, --help" in short.output


def test_commands_and_options_are_completed() -> None:
    completing = ShellComplete(main, {}, "holdfast", "_HOLDFAST_COMPLETE")

    found = [item.value for item in completing.get_completions(["autoscaler"], "st")]
    options = [item.value for item in completing.get_completions(["autoscaler", "history"], "--k")]

    assert found == ["status"]
    assert options == ["--kind"]


def test_outside_a_configured_folder_it_says_so_whatever_shells_have_for_other_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in SCHEMA.environment:
        monkeypatch.delenv(name, raising=False)
    here = {"KUBECONFIG": str(tmp_path / "kubeconfig"), "REGION": "us-east-1"}

    done = CliRunner().invoke(main, ["autoscaler", "history"], env=here)
    meant = CliRunner().invoke(main, ["autoscaler", "history"], env={**here, "DATABASE": "state.db"})

    assert "no holdfast.toml was found in this folder" in done.stderr
    assert "no holdfast.toml was found" not in meant.stderr
