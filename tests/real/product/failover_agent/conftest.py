"""The agent's own fixtures: real processes around a server that speaks the wire."""

from tests.agent.conftest import machine, script, server

__all__ = ["machine", "script", "server"]
