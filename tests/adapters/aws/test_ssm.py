"""Parameters: asked for by name, and refused with the fix."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from holdfast.adapters.aws.errors import Denied
from holdfast.adapters.aws.ssm import NoParameter, parameter
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


def test_a_value_is_asked_for_by_name_and_decrypted(store: Any) -> None:
    assert parameter(store, "/k3s/token") == SECRET
    assert store.asked == [{"Name": "/k3s/token", "WithDecryption": True}]


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
