"""What the benchmarks compare is comparable: a benchmark that no longer runs measures nothing."""

from contextlib import closing
from pathlib import Path

from bench import commits


def test_both_sides_of_the_commits_execute_the_same_statements(tmp_path: Path) -> None:
    with (
        closing(commits.Ours(str(tmp_path / "ours.db"), "OFF")) as ours,
        closing(commits.Bare(str(tmp_path / "bare.db"), "OFF", ready_made=False)) as bare,
    ):
        commits.check_same_statements(ours, bare)
