"""KWOK: the kubelets of nodes that are not there.

It renews the leases of Node objects, runs the pods that are bound to them and ends
those that are deleted, each by the rules of a stage file out of its own sources, and
one of ours.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.parts.packages.golang import go_for
from tools.parts.part import Part, Say

SOURCES = Path(__file__).parents[1] / "kubernetes" / "kwok"
OURS = Path(__file__).parents[1] / "kubernetes" / "stages" / "pod-ready-again.yaml"
STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)


class KwokPart(Part):
    name = "kwok"
    version = "0.8.0"
    licence = "Apache-2.0"
    purpose = "kubelets without machines"

    def build(self, say: Say) -> None:
        go = go_for(self, SOURCES, say)
        go.build("sigs.k8s.io/kwok/cmd/kwok", self.program, say)
        stages = go.folder_of("sigs.k8s.io/kwok") / "kustomize" / "stage"
        (self.home / "stages").mkdir()
        for stage in STAGES:
            shutil.copy(stages / stage, self.home / "stages")
        go.forget(say)

    @property
    def program(self) -> Path:
        return self.home / "kwok"

    @property
    def stages(self) -> Sequence[Path]:
        return [*(self.home / "stages" / Path(stage).name for stage in STAGES), OURS]


PART = KwokPart()
