"""The command line of failover in a folder of its own, before a server that knows one client."""

import json
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from holdfast.cli import main

PASSWORD = "pa55-w0rd"
"""In every database's address that is tried: no message may show it."""


@dataclass
class Shell:
    folder: Path
    token: str
    environ: dict[str, str]

    def __call__(self, *words: str, **environ: str) -> Result:
        done = CliRunner().invoke(main, ["failover", *words], env={**self.environ, **environ})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        told = done.stdout + done.stderr
        assert "Traceback" not in told
        assert self.token not in told
        assert PASSWORD not in told
        return done

    def refused(self, *words: str, code: int, **environ: str) -> str:
        """What is said of a command that must fail: to people and in JSON the same."""
        before = self.files()
        done = self(*words, **environ)
        assert done.exit_code == code, (words, done.stdout, done.stderr)
        assert not done.stdout, "the output is for what was asked"
        as_json = self(*words, "--json", **environ)
        assert as_json.exit_code == code, (words, as_json.stdout, as_json.stderr)
        problems: list[str] = json.loads(as_json.stdout)["problems"]
        assert problems
        assert all(problem in done.stderr for problem in problems), (problems, done.stderr)
        assert self.files() == before, "it left a file behind"
        return " ".join(problems)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())
