"""`--database`: `sqlite:FILE`, `mysql://…` (MariaDB too) or `postgresql://…`."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast.kernel import Invalid

EXAMPLES = "sqlite:FILE, mysql://user:password@host:3306/name or postgresql://user:password@host:5432/name"
SCHEMES = {"mysql": "mysql", "mariadb": "mysql", "postgresql": "postgresql", "postgres": "postgresql"}
PORTS = {"mysql": 3306, "postgresql": 5432}
OPTIONS = {"mysql": ("ssl_ca",), "postgresql": ("sslmode", "sslrootcert", "sslcert", "sslkey")}


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    dialect: str
    name: str
    """Of the database; for SQLite the file."""
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    options: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """For messages: everything but the password."""
        if self.dialect == "sqlite":
            return self.name
        return f"{self.dialect}://{self.user}@{self.host}:{self.port}/{self.name}"


def parse(url: str) -> DatabaseUrl:
    """Raises Invalid, naming what is missing; a password is never repeated."""
    scheme, colon, rest = url.partition(":")
    if scheme == "sqlite" and colon:
        path = rest.removeprefix("//")
        if not path:
            raise Invalid("database = 'sqlite:': the file is missing (write sqlite:holdfast-failover.db)")
        return DatabaseUrl("sqlite", path)
    if scheme not in SCHEMES or not rest.startswith("//"):
        known = f"{scheme}:…" if colon else "no scheme"
        raise Invalid(f"database: {known} is not known (write {EXAMPLES})")
    return _server(SCHEMES[scheme], url)


def _server(dialect: str, url: str) -> DatabaseUrl:
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[dialect]
    except ValueError as error:
        raise Invalid(f"database: {dialect}://…: the port makes no sense (write {EXAMPLES})") from error
    name = unquote(parts.path.removeprefix("/"))
    for value, what in ((parts.hostname, "host"), (parts.username, "user"), (name, "name of the database")):
        if not value:
            raise Invalid(f"database: {dialect}://…: the {what} is missing (write {EXAMPLES})")
    options = tuple(parse_qsl(parts.query, keep_blank_values=True))
    for option, _ in options:
        if option not in OPTIONS[dialect]:
            known = ", ".join(OPTIONS[dialect])
            raise Invalid(f"database: {dialect}://…?{option}: is not known (known: {known})")
    return DatabaseUrl(
        dialect,
        name,
        parts.hostname or "",
        port,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        options,
    )
