"""Parameters: kept for two minutes, asked for again when they prove wrong, never shown."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from holdfast.adapters.aws.errors import Denied
from holdfast.adapters.aws.ssm import KEPT_S, CachedParameter, NoParameter, parameter
from holdfast.kernel import Busy

SECRET = "sesame"


class Store:
    def __init__(self) -> None:
        self.value, self.asked, self.code = SECRET, list[dict[str, Any]](), ""

    def get_parameter(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if self.code:
            told = {"Error": {"Code": self.code}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            raise ClientError(told, "GetParameter")  # type: ignore[arg-type]
        return {"Parameter": {"Value": self.value}}


@pytest.fixture
def store() -> Any:
    return Store()


def test_a_value_is_decrypted_and_kept_for_two_minutes(store: Any) -> None:
    now = [0.0]
    token = CachedParameter(store, "/k3s/token", now_s=lambda: now[0])
    assert [token.value(), token.value()] == [SECRET, SECRET]
    assert store.asked == [{"Name": "/k3s/token", "WithDecryption": True}]
    store.value, now[0] = "rotated", KEPT_S - 0.1
    assert token.value() == SECRET
    now[0] = KEPT_S
    assert token.value() == "rotated"


def test_a_value_that_proved_wrong_is_asked_for_at_once(store: Any) -> None:
    token = CachedParameter(store, "/k3s/token", now_s=lambda: 0.0)
    token.value()
    store.value = "rotated"
    token.forget()
    assert token.value() == "rotated"


def test_nothing_shows_the_value(store: Any) -> None:
    token = CachedParameter(store, "/k3s/token")
    token.value()
    assert repr(token) == str(token) == "CachedParameter('/k3s/token')"
    assert not hasattr(token, "__dict__")


@pytest.mark.parametrize(
    ("code", "raised", "fix"),
    [
        ("ParameterNotFound", NoParameter, "aws ssm put-parameter --type SecureString --name /k3s/token"),
        ("AccessDeniedException", Denied, "on parameter/k3s/token: ssm:GetParameter, and kms:Decrypt"),
        ("ExpiredTokenException", Denied, "renew the credentials"),
        ("ThrottlingException", Busy, "ThrottlingException"),
    ],
)
def test_a_refusal_names_the_parameter_and_the_fix(
    store: Any, code: str, raised: type[Exception], fix: str
) -> None:
    store.code = code
    with pytest.raises(raised) as refused:
        parameter(store, "/k3s/token")
    assert fix in str(refused.value)


def test_an_old_value_is_not_given_out_when_ssm_does_not_answer(store: Any) -> None:
    now = [0.0]
    token = CachedParameter(store, "/k3s/token", now_s=lambda: now[0])
    token.value()
    now[0], store.code = KEPT_S, "ThrottlingException"
    with pytest.raises(Busy):
        token.value()
    store.code = ""
    assert token.value() == SECRET
