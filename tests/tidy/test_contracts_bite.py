"""The import contracts of pyproject.toml, tried on copies with a wrong import put into them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests.tidy.repository import ROOT
from tools.contracts import OnlyAllowedImports

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package, the configuration and our contract type, where they may be spoiled."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "holdfast", tmp_path / "src" / "holdfast", ignore=leave)
    (tmp_path / "tools").mkdir()
    for name in ("pyproject.toml", "tools/__init__.py", "tools/contracts.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def lint(folder: Path) -> tuple[int, str]:
    """Run the linter there, so that it finds that copy and no other."""
    done = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "300"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_package_as_it_is_keeps_every_contract(copy: Path) -> None:
    code, said = lint(copy)
    assert code == 0, said
    assert "0 broken" in said


KERNEL = "The kernel imports nothing but the standard library's data modules"
PURE = "Parts are pure, and so are what they share and the engine of their settings"
APART = "Parts do not import each other"
ADAPTERS = "Adapters import of a part only its ports and values"
PLATFORM = "Clients of outside systems know no part, but for the port that they implement"
LAYERS = "Adapters know ports, parts know no adapter, app joins them; sim stands beside, cli on top"


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("adapters.kubernetes.client", "import holdfast.autoscaler.ports", PLATFORM),
        ("settings.load", "import os", PURE),
        ("cloud.machines", "import time", PURE),
        ("settings.load", "import holdfast.leases.cap", LAYERS),
        ("kernel.driver", "import time", KERNEL),
        ("kernel.driver", "def later() -> None:\n    import boto3", KERNEL),
        ("kernel.driver", "import holdfast.leases.cap", KERNEL),
        ("autoscaler.scale_down.action", "import random", PURE),
        ("autoscaler.scale_down.action", "import holdfast.adapters.sql.sqlite", LAYERS),
        ("failover.rules.takeover", "import holdfast.leases.cap", APART),
        ("adapters.logs", "import holdfast.autoscaler.settings", ADAPTERS),
        ("adapters.sql.groups.store", "import holdfast.failover.rules.takeover", ADAPTERS),
        ("adapters.aws.ec2.launch", "import holdfast.autoscaler.ports", PLATFORM),
        ("adapters.sql.sqlite.items", "import holdfast.leases.cap", PLATFORM),
        ("adapters.aws.ssm", "import holdfast.app.autoscaler", LAYERS),
        ("sim.demo", "import holdfast.app.failover", LAYERS),
        ("app.leases", "import holdfast.sim.demo", LAYERS),
        ("app.leases", "import holdfast.cli.up", LAYERS),
    ],
    ids=[
        "a client knows a part",
        "the settings' engine reads the environment",
        "a shared value reads a clock",
        "the settings' engine knows a part",
        "the kernel reads a clock",
        "the kernel calls a cloud, late",
        "the kernel knows a part",
        "a part draws random numbers",
        "a part knows an adapter",
        "a part knows another",
        "an adapter reads a part's settings",
        "a store knows more of its part than values",
        "EC2 knows a part",
        "plain items know a part",
        "an adapter knows the wiring",
        "the simulated world knows the wiring",
        "the wiring knows the simulated world",
        "the wiring knows a command",
    ],
)
def test_a_wrong_import_breaks_its_contract_and_is_named(
    copy: Path, module: str, line: str, contract: str
) -> None:
    file = copy / "src" / "holdfast" / Path(*module.split(".")).with_suffix(".py")
    file.write_text(f"{file.read_text()}\n{line}\n")

    code, said = lint(copy)

    assert code == 1, said
    assert f"{contract} BROKEN" in said
    imported = line.rpartition("import ")[2]
    named = f"holdfast.{module} (is not allowed to import|->) {imported} "
    assert re.search(named, said), said


def test_a_package_that_no_layer_names_is_refused(copy: Path) -> None:
    (copy / "src" / "holdfast" / "somewhere.py").touch()
    code, said = lint(copy)
    assert code == 1, said
    assert "somewhere" in said


def allow_list(**options: list[str]) -> OnlyAllowedImports:
    return OnlyAllowedImports("pure", {}, {"modules": ["part"], "allowed": ["math"], **options})


def imports(*pairs: tuple[str, str]) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    for name in ("part", "part.rules", "part.tick"):
        graph.add_module(name)
    for importer, imported in pairs:
        graph.add_import(importer=importer, imported=imported, line_number=3, line_contents="import it")
    return graph


def test_a_shell_may_import_anything_and_no_pure_module_may_import_a_shell() -> None:
    contract = allow_list(shells=["part.tick"])
    fine = imports(("part.tick", "time"), ("part.tick", "part.rules"), ("part.rules", "math"))
    assert contract.check(fine, verbose=False).kept

    found = contract.check(imports(("part.rules", "part.tick")), verbose=False)
    assert not found.kept
    assert found.metadata["breaches"] == [("part.rules", "part.tick", "l. 3")]


def test_a_name_is_not_allowed_for_beginning_like_an_allowed_one() -> None:
    assert not allow_list().check(imports(("part.rules", "mathematics")), verbose=False).kept


@pytest.mark.parametrize("option", ["modules", "shells"])
def test_a_contract_about_a_module_that_is_not_there_is_an_error(option: str) -> None:
    with pytest.raises(ValueError, match=r"part\.gone, which does not exist"):
        allow_list(**{option: ["part.gone"]}).check(imports(), verbose=False)


def test_only_what_a_contract_concerns_is_judged() -> None:
    contract = allow_list(concerning=["other"], allowed=["other.ports"])
    fine = imports(("part.rules", "time"), ("part.rules", "other.ports"))
    assert contract.check(fine, verbose=False).kept

    found = contract.check(imports(("part.rules", "other.inside")), verbose=False)
    assert found.metadata["breaches"] == [("part.rules", "other.inside", "l. 3")]


def test_an_ignored_import_is_let_pass_and_no_other() -> None:
    contract = allow_list(ignore_imports=["part.rules -> time"])
    assert contract.check(imports(("part.rules", "time")), verbose=False).kept

    found = contract.check(imports(("part.rules", "time"), ("part.tick", "time")), verbose=False)
    assert found.metadata["breaches"] == [("part.tick", "time", "l. 3")]


def test_an_exception_for_an_import_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"part\.rules -> time, which does not exist"):
        allow_list(ignore_imports=["part.rules -> time"]).check(imports(), verbose=False)
