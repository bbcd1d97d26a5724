"""Whatever is wrong is answered in words with a fix, and nothing is touched."""

from typing import Any

import pytest

from tests.real.product.lambda_handler.lab import API_TOKEN_PARAMETER, SCHEDULED, Lab, event, lines, message

INTERRUPTION = "EC2 Spot Instance Interruption Warning"
AT = "2026-01-31T12:00:00Z"


@pytest.fixture
def told(lab: Lab) -> Any:
    """Asks a function with these settings once, and gives its answer; nothing may come of it."""

    def ask(said: object, **changed: Any) -> Any:
        with lab.function(**changed) as function:
            answer = function.invoke(said)
            assert "errorType" not in answer, answer
            logged = [line["msg"] for line in lines(function) if line.get("level") in ("WARNING", "ERROR")]
            assert logged, "it is in the log, too"
        return answer

    yield ask
    assert lab.launches() == []


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "source is missing"),
        ([1, 2], "the event is [1, 2], not an object"),
        ({"source": "aws.ec2", "detail-type": INTERRUPTION, "time": AT}, "detail is None, not an object"),
        (event(INTERRUPTION, "", AT), "detail.instance-id is '', not a text"),
        (event(INTERRUPTION, "i-1", "soon"), "time is 'soon', not like"),
        ({"source": "aws.s3", "detail-type": "Object Created"}, "detail-type is 'Object Created'"),
    ],
)
def test_events_that_make_no_sense(lab: Lab, told: Any, said: object, problem: str) -> None:
    answer = told(said)
    assert answer["outcome"] == "not understood"
    assert problem in answer["problems"][0]
    assert lab.version() == 0


def test_a_batch_of_nothing_but_bad_messages_does_not_block_the_queue(lab: Lab, told: Any) -> None:
    assert told({"Records": [message("{", "m-1"), message({}, "m-2"), 7]}) == {"batchItemFailures": []}
    assert lab.version() == 0


def test_a_missing_table_is_named_with_the_fix(told: Any) -> None:
    answer = told(SCHEDULED, STATE_TABLE="lost-state", LOGS_TABLE="lost-logs")
    assert answer["outcome"] == "refused"
    assert "lost-state" in answer["why"]
    assert "create the table" in answer["why"]


def test_notices_wait_for_a_missing_table(told: Any) -> None:
    batch = {"Records": [message(event(INTERRUPTION, "i-1", AT), "m-1"), message("{", "m-bad")]}
    answer = told(batch, STATE_TABLE="lost-state", LOGS_TABLE="lost-logs")
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}


def test_wrong_settings_are_all_named_at_once(lab: Lab, told: Any) -> None:
    answer = told(SCHEDULED, CPU_UP="0.2", CPU_DOWN="0.4", MIN_WORKERS="9", MAX_WORKERS="3", LOCK_TTL_SEC="x")
    assert answer["outcome"] == "refused"
    for setting in ("CPU_UP", "CPU_DOWN", "MIN_WORKERS", "MAX_WORKERS", "LOCK_TTL_SEC"):
        assert setting in answer["why"]
    assert lab.version() == 0


def test_a_token_that_the_cluster_does_not_know(lab: Lab, told: Any) -> None:
    ssm = lab.site.client("ssm")
    ssm.put_parameter(Name="/holdfast/expired", Value="expired-token", Type="SecureString", Overwrite=True)
    answer = told(SCHEDULED, K8S_API_TOKEN_PARAM="/holdfast/expired")
    assert answer["outcome"] == "refused"
    assert "renew the token" in answer["why"]
    assert "expired-token" not in answer["why"]


def test_a_token_parameter_that_is_not_there(told: Any) -> None:
    answer = told(SCHEDULED, K8S_API_TOKEN_PARAM="/holdfast/nowhere")
    assert answer["outcome"] == "refused"
    assert "there is no parameter /holdfast/nowhere" in answer["why"]


def test_an_account_without_the_rights_of_the_manifest(lab: Lab, told: Any) -> None:
    cluster = lab.site.cluster
    token = cluster.service_account_token("default", "default")
    lab.site.client("ssm").put_parameter(
        Name="/holdfast/powerless", Value=token, Type="SecureString", Overwrite=True
    )
    answer = told(SCHEDULED, K8S_API_TOKEN_PARAM="/holdfast/powerless")
    assert answer["outcome"] == "refused"
    assert "grant verb `get` on `namespaces`" in answer["why"], "the cluster's identity is asked for first"
    assert token not in answer["why"]


def test_a_role_without_a_permission(lab: Lab, told: Any) -> None:
    lab.site.ec2.fail_next("DescribeInstances", code="UnauthorizedOperation", status=403)
    answer = told(SCHEDULED)
    assert answer["outcome"] == "refused"
    assert "grant the role this action: ec2:DescribeInstances" in answer["why"]


def test_an_authority_that_is_not_the_clusters(lab: Lab, told: Any) -> None:
    other = "-----BEGIN CERTIFICATE-----\\nbm9uc2Vuc2U=\\n-----END CERTIFICATE-----"
    answer = told(SCHEDULED, K8S_CA=other)
    assert answer["outcome"] == "refused"
    assert "k8s_ca" in answer["why"]


def test_an_api_that_cannot_be_reached_is_busy_and_nothing_is_written(lab: Lab, told: Any) -> None:
    answer = told(SCHEDULED, timeout_s=15, K8S_API_URL="https://127.0.0.1:9")
    assert answer["outcome"] == "busy"
    assert "Kubernetes API unreachable" in answer["why"]


def test_the_token_of_the_manifest_is_enough(lab: Lab) -> None:
    with lab.function(K8S_API_TOKEN_PARAM=API_TOKEN_PARAMETER) as function:
        assert function.invoke(SCHEDULED)["outcome"] == "idle"
