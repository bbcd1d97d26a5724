"""Where the pieces of one cluster find each other: its ports and the files in its folder."""

from dataclasses import dataclass, field
from pathlib import Path

from tools.parts.ports import free_port


@dataclass(frozen=True)
class Layout:
    folder: Path
    apiserver_port: int = field(default_factory=free_port)
    scheduler_port: int = field(default_factory=free_port)
    controllers_port: int = field(default_factory=free_port)
    kwok_port: int = field(default_factory=free_port)

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.apiserver_port}"

    @property
    def etcd_socket(self) -> Path:
        """A file and not a port: no other cluster can be mistaken for this one's etcd."""
        return self.folder / "etcd.sock"

    @property
    def certificates(self) -> Path:
        """Where the apiserver writes the authority and the certificate that it makes for itself."""
        return self.folder / "certificates"

    @property
    def ca_file(self) -> Path:
        """Its own certificate first and the authority that signed it behind it."""
        return self.certificates / "apiserver.crt"

    @property
    def serving_key(self) -> Path:
        return self.certificates / "apiserver.key"

    @property
    def token_file(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def signing_key(self) -> Path:
        return self.folder / "service-accounts.key"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"
