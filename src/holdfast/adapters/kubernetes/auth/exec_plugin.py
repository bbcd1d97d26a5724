"""A kubeconfig's `exec`: a command that signs in, such as `aws eks get-token`.

The protocol is `client.authentication.k8s.io`: what is wanted goes to the command in
KUBERNETES_EXEC_INFO, and an ExecCredential comes back on stdout.  Neither stdout nor the arguments
are ever shown: both may hold secrets.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.adapters.kubernetes.auth import exec_command
from holdfast.adapters.kubernetes.auth.exec_credential import (
    KIND,
    Credential,
    Unusable,
    credential_in,
    secrets_in,
)
from holdfast.adapters.kubernetes.auth.kubeconfig_file import Cluster, Exec
from holdfast.adapters.kubernetes.auth.redact import without_secrets
from holdfast.kernel import Busy, Invalid

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXTENSION = "client.authentication.k8s.io/exec"
"""Where a cluster keeps what it has to say to the command."""
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Plugin:
    """The command of one user, ready to be run."""

    of: Exec
    user: str
    """Context and user, as told to people."""
    home: Path
    """The kubeconfig's folder."""
    cluster: Cluster
    authority: str
    """The cluster's, as base64 of PEM."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    timeout_s: float = TIMEOUT_S

    def credential(self) -> Credential:
        """Run the command.

        Raises Busy if it fails or hangs: it may work the next time.  Raises Invalid if it is
        missing, or prints no credential.
        """
        self._check()
        done = self._run()
        if done.code is None:
            raise Busy(self._said(f"did not end within {self.timeout_s:g} s, and was killed", done))
        if done.code != 0:
            raise Busy(self._said(f"failed with exit code {done.code}", done))
        try:
            return credential_in(done.output, self.of.api_version)
        except Unusable as error:
            problem = str(error)
        raise Invalid(self._said(problem, done))

    def _check(self) -> None:
        if not self.of.command:
            raise Invalid(f"{self.user}: its exec names no command")
        if self.of.api_version not in API_VERSIONS:
            raise Invalid(
                self._said(
                    f"has apiVersion {self.of.api_version!r}, and {' and '.join(API_VERSIONS)} are known:"
                    " write the kubeconfig anew, as with `aws eks update-kubeconfig`"
                )
            )
        if self.of.interactive_mode == "Always":
            raise Invalid(self._said("wants a terminal (interactiveMode is Always), and gets none here"))

    def _run(self) -> exec_command.Finished:
        environ = {
            **self.environ,
            **{each.name: each.value for each in self.of.env or ()},
            "KUBERNETES_EXEC_INFO": json.dumps(self._info(), default=str),
        }
        program = exec_command.find(self.of.command, self.home, environ)
        if program is None:
            raise Invalid(self._said("is not there, or may not be executed"))
        try:
            return exec_command.run([program, *(self.of.args or ())], environ, self.timeout_s)
        except OSError as error:
            problem = error.strerror or type(error).__name__
        except ValueError as error:
            problem = str(error)  # a null byte in an argument, which is not quoted
        raise Invalid(self._said(f"cannot be started: {problem}"))

    def _info(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"interactive": False}
        if self.of.provide_cluster_info:
            its = self.cluster
            told = {
                "server": its.server,
                "tls-server-name": its.tls_server_name,
                "certificate-authority-data": self.authority,
                "config": next((e.extension for e in its.extensions or () if e.name == EXTENSION), None),
            }
            spec["cluster"] = {name: value for name, value in told.items() if value}
        return {"apiVersion": self.of.api_version, "kind": KIND, "spec": spec}

    def _said(self, problem: str, done: exec_command.Finished | None = None) -> str:
        told = f"{self.user}: the command {self.of.command!r} of its exec {problem}"
        if done is not None and done.complaint:
            told += f"; it says: {without_secrets(done.complaint, secrets_in(done.output))}"
        hint = " ".join(self.of.install_hint.split())
        return f"{told} ({hint})" if hint else told
