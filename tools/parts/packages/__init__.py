"""Where parts come from: Go modules, Maven, npm, Debian and PyPI, each by name, version and digest."""
