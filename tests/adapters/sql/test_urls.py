"""`--database`: what it names, and what is wrong with it; a password is never repeated."""

from pathlib import Path

import pytest

from holdfast.adapters.sql import opening
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.url import DatabaseUrl, parse
from holdfast.kernel import Corrupt, Invalid


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("sqlite:state.db", DatabaseUrl("sqlite", "state.db")),
        ("sqlite:///var/lib/state.db", DatabaseUrl("sqlite", "/var/lib/state.db")),
        ("mysql://me@db/fo", DatabaseUrl("mysql", "fo", "db", 3306, "me")),
        ("mariadb://me:a%40b@db:33/fo", DatabaseUrl("mysql", "fo", "db", 33, "me", "a@b")),
        (
            "postgres://me:x@db/fo?sslmode=verify-full&sslrootcert=ca.pem",
            DatabaseUrl(
                "postgresql", "fo", "db", 5432, "me", "x",
                (("sslmode", "verify-full"), ("sslrootcert", "ca.pem")),
            ),
        ),
    ],
)  # fmt: skip
def test_a_url_names_a_database(url: str, means: DatabaseUrl) -> None:
    assert parse(url) == means
    assert "a@b" not in f"{parse(url)!r}{parse(url).shown}"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "no scheme is not known"),
        ("state.db", "no scheme is not known"),
        ("sqlite:", "the file is missing"),
        ("oracle://me:s3cret@db/fo", "oracle:… is not known"),
        ("mysql:me:s3cret@db/fo", "mysql:… is not known"),
        ("mysql://me:s3cret@db", "the name of the database is missing"),
        ("mysql://db/fo", "the user is missing"),
        ("postgresql://me:s3cret@/fo", "the host is missing"),
        ("postgresql://me:s3cret@db:many/fo", "the port makes no sense"),
        ("mysql://me:s3cret@db/fo?sslmode=x", "?sslmode: is not known (known: ssl_ca)"),
    ],
)
def test_what_is_wrong_is_named_with_the_fix_and_without_the_password(url: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(url)

    assert said in str(refused.value)
    assert str(refused.value).startswith("database")
    assert "s3cret" not in str(refused.value)


def test_a_missing_driver_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "holdfast.adapters.sql.mysql.dialect", None)

    with pytest.raises(Invalid, match=r"pip install 'holdfast\[server\]'"):
        opening.open_database("mysql://me@db/fo")


def test_a_sqlite_file_is_opened_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = opening.open_database(f"sqlite:{path}")
    assert SqlGroupStore(database).read("acme/agent").version == 0
    assert database.weaknesses() == []
    database.close()
    path.write_bytes(b"no database at all" * 100)

    with pytest.raises(Corrupt, match=str(path)):
        opening.open_database(f"sqlite:{path}")
