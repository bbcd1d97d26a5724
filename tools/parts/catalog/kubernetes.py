"""The control plane of Kubernetes: etcd, kube-apiserver, kube-scheduler, kube-controller-manager.

Built once from their released Go modules into one program under four names.  Alone
it has nodes that no machine runs: `tools.parts.cluster` starts it together with KWOK.
"""

from pathlib import Path

from tools.parts.packages.golang import go_for
from tools.parts.part import Part, Say

SOURCES = Path(__file__).parents[1] / "kubernetes" / "controlplane"
NAMES = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")


class KubernetesPart(Part):
    name = "kubernetes"
    version = "1.36.3"
    licence = "Apache-2.0"
    purpose = "etcd, kube-apiserver, kube-scheduler, kube-controller-manager"

    def build(self, say: Say) -> None:
        go = go_for(self, SOURCES, say)
        major, minor, _ = self.version.split(".")
        told = {"gitVersion": f"v{self.version}", "gitMajor": major, "gitMinor": minor}
        ldflags = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in told.items()]
        bin_folder = self.home / "bin"
        bin_folder.mkdir()
        go.build(".", bin_folder / "controlplane", say, ldflags=ldflags)
        for name in NAMES:
            (bin_folder / name).symlink_to("controlplane")
        go.forget(say)

    def program(self, name: str) -> Path:
        return self.home / "bin" / name


PART = KubernetesPart()
