"""ExtendDB checks signatures, so that a client which signs wrongly is found out before AWS does it."""

from collections.abc import Iterator

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.real.presence import present
from tools.parts.catalog.extenddb import ACCESS_KEY, PART, SECRET_KEY, Extenddb


@pytest.fixture(scope="module")
def extenddb() -> Iterator[Extenddb]:
    started = present(PART).start()
    yield started
    started.stop()


@pytest.mark.parametrize(
    ("access_key", "secret_key"),
    [(ACCESS_KEY, "not-the-secret"), ("AKIAIOSFODNN7STRANGE", SECRET_KEY)],
    ids=["wrong secret", "unknown key"],
)
def test_a_wrong_signature_is_refused(extenddb: Extenddb, access_key: str, secret_key: str) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=extenddb.endpoint,
        region_name="us-east-1",
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
    )
    with pytest.raises(ClientError) as refused:
        client.list_tables()
    client.close()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] in (400, 403)
    code = refused.value.response["Error"]["Code"]
    assert code in ("InvalidSignatureException", "UnrecognizedClientException"), code
