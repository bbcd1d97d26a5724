"""Seeds that a commit draws: the same for every clone of it, others for the next, none that is fixed."""

import subprocess
from pathlib import Path

import pytest

from tests import seeds


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the seeds take for the repository, without git as yet."""
    monkeypatch.delenv(seeds.BASE, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(seeds, "ROOT", tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *author, *words], check=True, capture_output=True)


def test_a_commit_draws_the_same_whether_or_not_the_tree_is_clean(clone: Path) -> None:
    git(clone, "init")
    assert seeds.base() == seeds.WITHOUT_GIT, "no commit yet"
    git(clone, "commit", "--allow-empty", "-m", "one")
    first = seeds.base()
    (clone / "new").touch()
    assert seeds.base() == first
    git(clone, "add", "new")
    git(clone, "commit", "-m", "two")

    assert seeds.base() != first
    assert min(first, seeds.base()) >= seeds.BEHIND


@pytest.mark.usefixtures("clone")
def test_without_git_they_are_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert seeds.of_this_commit(2) == [seeds.WITHOUT_GIT, seeds.WITHOUT_GIT + 1]


@pytest.mark.usefixtures("clone")
def test_the_environment_may_name_a_base_and_it_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seeds.BASE, "77")

    assert seeds.of_this_commit(3) == [77, 78, 79]
    assert seeds.told() == "from 77; HOLDFAST_SEED_BASE=77 brings the same again"


def test_what_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seeds.BASE, "many")

    with pytest.raises(AssertionError, match="HOLDFAST_SEED_BASE is 'many'"):
        seeds.base()
