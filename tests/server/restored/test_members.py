"""Members that a restored database has lost are named; strangers, and tokens that were ended, are not."""

from pathlib import Path

import pytest

from holdfast.failover.tenants import Token, TokenKind
from holdfast.server.restored.members import NAMED_FOR_S, Members


def token(instance_id: str, digest: str = "", kind: TokenKind = TokenKind.AGENT) -> Token:
    return Token(
        token_id=f"t-{instance_id}",
        kind=kind,
        digest=digest or f"d-{instance_id}",
        client_id="shop",
        agent_id="db",
        instance_id=instance_id,
        created_s=0.0,
        expires_s=1e12,
    )


class Clock:
    now_s = 1_000_000.0


@pytest.fixture
def members(tmp_path: Path) -> Members:
    return Members(tmp_path / "members", lambda: Clock.now_s)


def test_a_member_that_was_known_is_named_after_a_restore_also_by_the_next_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    before = Members(tmp_path / "members", lambda: clock.now_s)
    before.learned([token("i-1"), token("i-2")])
    before.saw(token("i-3"))
    before.store()

    after = Members(tmp_path / "members", lambda: clock.now_s)
    after.behind()
    after.learned([token("i-1")])  # all that the restored database knows
    for digest in ("d-i-1", "d-i-2", "d-i-2", "a-strangers"):
        after.refused(digest)
    assert caplog.text.count("i-2 of shop/db") == 1
    assert "i-1" not in caplog.text
    assert after.missing("shop", "db") == ["i-2", "i-3"]
    assert after.missing("other", "db") == []
    after.store()

    assert Members(tmp_path / "members", lambda: clock.now_s).missing("shop", "db") == ["i-2", "i-3"]
    after.learned([token("i-1"), token("i-2", "a-new-one")])
    assert after.missing("shop", "db") == ["i-3"], "i-2 was enrolled again"
    clock.now_s += NAMED_FOR_S
    after.learned([token("i-1")])
    assert after.missing("shop", "db") == [], "it is long ago"


def test_a_token_that_was_ended_names_none(members: Members) -> None:
    members.learned([token("i-1"), token("i-2")])
    members.learned([token("i-1")])
    members.refused("d-i-2")
    assert members.missing("shop", "db") == []


def test_only_agents_are_members(members: Members, tmp_path: Path) -> None:
    members.saw(token("", kind=TokenKind.OPERATOR))
    members.behind()
    members.learned([])
    assert members.missing("shop", "db") == []
    members.store()
    assert oct((tmp_path / "members").stat().st_mode & 0o777) == "0o600"


def test_a_full_disk_is_said_once_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    members = Members(tmp_path / "absent" / "members", lambda: Clock.now_s)
    members.saw(token("i-1"))
    members.store()
    members.store()
    assert caplog.text.count("cannot be written") == 1
    (tmp_path / "absent").mkdir()
    members.store()
    assert (tmp_path / "absent" / "members").exists()


def test_what_cannot_be_read_is_forgotten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "members").write_text('{"known": 7}')
    assert Members(tmp_path / "members", lambda: Clock.now_s).missing("shop", "db") == []
    assert "cannot be read" in caplog.text
