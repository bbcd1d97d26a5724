"""What a Prometheus may answer, and that nothing but good data ever becomes a number."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast.adapters.prometheus import Prometheus
from holdfast.cloud.kubernetes import Address, Condition, KubeNode, Meta, NodeStatus
from holdfast.kernel import Busy

NOW_S = 1_000_000.0
WINDOW_S = 600


def node(name: str, *, ready: bool = True, address: str = "") -> KubeNode:
    status = NodeStatus(
        conditions=(Condition(type="Ready", status="True" if ready else "Unknown"),),
        addresses=(Address(type="InternalIP", address=address),) if address else (),
    )
    return KubeNode(metadata=Meta(name=name), status=status)


def series(value: float | str, at_s: float = NOW_S, **labels: str) -> dict[str, Any]:
    return {"metric": labels, "value": [at_s, str(value)]}


def worker(
    idle: float | str, *, cpus: int = 2, age_s: float = 15, at_s: float = NOW_S, **labels: str
) -> list[dict[str, Any]]:
    """The three numbers that one look has of a machine."""
    return [
        series(idle, at_s, **labels, **{"is": "idle"}),
        series(cpus, at_s, **labels, **{"is": "cpus"}),
        series(at_s - age_s, at_s, **labels, **{"is": "at"}),
    ]


class Answers:
    """A server that answers each query with the next of what it was given, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.given: list[tuple[int, bytes]] = []
        self.slowly = 0.0

    def give(self, *results: list[dict[str, Any]], **more: Any) -> None:
        bodies = [
            {"status": "success", "data": {"resultType": "vector", "result": r}, **more} for r in results
        ]
        self.given = [(200, json.dumps(body).encode()) for body in bodies]

    def next(self) -> tuple[int, bytes]:
        return self.given.pop(0) if len(self.given) > 1 else self.given[0]


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def url(answers: Answers) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(parse_qs(urlsplit(self.path).query)["query"][0])

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.answer(parse_qs(body)["query"][0])

        def answer(self, query: str) -> None:
            answers.asked.append((self.command, query))
            status, body = answers.next()
            self.send_response(status)
            self.end_headers()
            for n in range(0, len(body), 20) if answers.slowly else [0]:
                self.wfile.write(body[n : n + 20] if answers.slowly else body)
                self.wfile.flush()
                time.sleep(answers.slowly)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def prometheus(url: str) -> Prometheus:
    return Prometheus(url, now_s=lambda: NOW_S)


NODES = [node("i-1"), node("i-2")]


def test_the_load_is_weighted_by_cpus_and_has_a_peak(prometheus: Prometheus, answers: Answers) -> None:
    answers.give([*worker(0.1, cpus=6, node="i-1"), *worker(0.9, cpus=2, node="i-2")], [series(0.95)])
    load = prometheus.load(NODES, [], WINDOW_S)
    assert load.cpu == pytest.approx(0.7)
    assert (load.peak, load.problem) == (0.95, "")
    assert load.source == "prometheus"


def test_full_load_reads_one(prometheus: Prometheus, answers: Answers) -> None:
    """The mean over the busy modes would read a seventh of it, and the fleet would never scale up."""
    answers.give([*worker(0.0, node="i-1"), *worker(0.0, node="i-2")], [series(1.0)])
    assert prometheus.load(NODES, [], WINDOW_S).cpu == 1.0
    look, peak = (query for _, query in answers.asked)
    assert 'rate(node_cpu_seconds_total{mode="idle"}[120s])' in look
    assert peak.startswith("max_over_time((1 - avg(rate(node_cpu_seconds_total")
    assert peak.endswith("[600s:30s])")


def test_a_peak_is_never_lower_than_the_load_now(prometheus: Prometheus, answers: Answers) -> None:
    answers.give([*worker(0.2, node="i-1"), *worker(0.2, node="i-2")], [series(0.5)])
    load = prometheus.load(NODES, [], WINDOW_S)
    assert load.peak == load.cpu == pytest.approx(0.8)


def test_no_window_is_no_second_question(prometheus: Prometheus, answers: Answers) -> None:
    answers.give([*worker(0.2, node="i-1"), *worker(0.2, node="i-2")])
    assert prometheus.load(NODES, [], 0).peak is None
    assert len(answers.asked) == 1


def test_rounding_at_the_ends_is_no_absurdity(prometheus: Prometheus, answers: Answers) -> None:
    answers.give([*worker(1.04, node="i-1"), *worker(1.04, node="i-2")], [series(-0.04)])
    load = prometheus.load(NODES, [], WINDOW_S)
    assert (load.cpu, load.peak) == (0.0, 0.0)


def test_only_the_workers_that_were_asked_for_count(prometheus: Prometheus, answers: Answers) -> None:
    others = [*worker(0.0, cpus=64, node="control-plane"), *worker(0.0, cpus=64, instance="10.9.9.9:9100")]
    answers.give([*others, *worker(0.5, node="i-1"), *worker(0.5, node="i-2")], [series(0.5)])
    assert prometheus.load(NODES, [], WINDOW_S).cpu == 0.5
    assert '{mode="idle", node=~"i-1|i-2"}' in answers.asked[1][1], "the peak is of the same workers"


@pytest.mark.parametrize("instance", ["10.0.0.7:9100", "10.0.0.7", "i-1:9100", "i-1"])
def test_without_a_node_label_the_instance_is_the_name_or_address(
    prometheus: Prometheus, answers: Answers, instance: str
) -> None:
    answers.give(worker(0.25, instance=instance), [series(0.75)])
    assert prometheus.load([node("i-1", address="10.0.0.7")], [], WINDOW_S).cpu == 0.75
    escaped = instance.replace(".", "\\\\.")
    assert f'instance=~"{escaped}"' in answers.asked[1][1]


def test_the_label_can_be_named(url: str, answers: Answers) -> None:
    answers.give(worker(0.25, nodename="i-1"), [series(0.75)])
    prometheus = Prometheus(url, label="nodename", now_s=lambda: NOW_S)
    assert prometheus.load([node("i-1")], [], WINDOW_S).cpu == 0.75
    assert "by (nodename)" in answers.asked[0][1]


def test_workers_that_are_not_ready_are_not_measured(prometheus: Prometheus, answers: Answers) -> None:
    answers.give([*worker(0.5, node="i-1"), *worker(1.0, node="i-2")], [series(0.5)])
    assert prometheus.load([node("i-1"), node("i-2", ready=False)], [], WINDOW_S).cpu == 0.5


def test_half_of_the_workers_will_do_and_fewer_will_not(prometheus: Prometheus, answers: Answers) -> None:
    four = [node(f"i-{n}") for n in range(4)]
    two = [*worker(0.5, node="i-0"), *worker(0.5, node="i-1")]
    answers.give(two, [series(0.5)])
    assert prometheus.load(four, [], WINDOW_S).cpu == 0.5
    answers.give(two)
    load = prometheus.load([*four, node("i-4")], [], WINDOW_S)
    assert load.cpu is None
    assert "2 of 5 ready workers have fresh CPU series" in load.problem
    assert "node-exporter runs on i-2" in load.problem


GOOD = [*worker(0.5, node="i-1"), *worker(0.5, node="i-2")]


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ([[]], "0 of 2 ready workers have fresh CPU series"),
        ([[*worker("NaN", node="i-1"), *worker(0.5, node="i-2")]], "the CPU load of i-1 would be nan"),
        ([[*worker("+Inf", node="i-1"), *worker(0.5, node="i-2")]], "the CPU load of i-1 would be -inf"),
        ([[*worker(1.2, node="i-1"), *worker(0.5, node="i-2")]], "the CPU load of i-1 would be -0.2"),
        ([[*worker(-0.2, node="i-1"), *worker(0.5, node="i-2")]], "the CPU load of i-1 would be 1.2"),
        ([[*worker("much", node="i-1")]], "it calls 'much' a number"),
        ([[*worker(0.5, age_s=181, node="i-1"), *worker(0.5, age_s=999, node="i-2")]], "older than 180 s"),
        ([[*worker(0.5, at_s=NOW_S - 181, node="i-1")]], "181 s away from our clock"),
        ([[*worker(0.5, at_s=NOW_S + 999, node="i-1")]], "999 s away from our clock"),
        ([[s for s in GOOD if s["metric"]["is"] == "at"]], "0 of 2 ready workers"),
        ([[s for s in GOOD if s["metric"]["is"] != "at"]], "older than 180 s"),
        ([GOOD, []], "no history of the last 600 s"),
        ([GOOD, [series("NaN")]], "the peak of the last 600 s would be nan"),
        ([GOOD, [series(7)]], "the peak of the last 600 s would be 7"),
    ],
)  # fmt: skip
def test_no_data_and_absurd_data_are_a_problem_and_no_number(
    prometheus: Prometheus, answers: Answers, results: list[list[dict[str, Any]]], why: str
) -> None:
    answers.give(*results)
    load = prometheus.load(NODES, [], WINDOW_S)
    assert (load.cpu, load.peak) == (None, None)
    assert why in load.problem
    assert "check" in load.problem


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, b"<html><body>Please sign in</body></html>", "which is no answer of Prometheus"),
        (302, b"", "which is no answer of Prometheus"),
        (503, b"overloaded", "HTTP 503 with 'overloaded'"),
        (200, b'{"status":"success"}', "HTTP 200: success"),
        (200, b'{"status":"success","data":{"result":[{"metric":{},"value":[1]}]}}', "no answer of"),
        (200, b'{"status":"success","data":{"result":"none"}}', "which is no answer of Prometheus"),
        (400, b'{"status":"error","errorType":"bad_data","error":"parse error"}', "HTTP 400: parse error"),
        (422, b'{"status":"error","error":"query timed out"}', "query timed out"),
        (200, b"\xff\xfe", "which is no answer of Prometheus"),
    ],
)
def test_what_is_no_answer_is_a_problem(
    prometheus: Prometheus, answers: Answers, status: int, body: bytes, why: str
) -> None:
    answers.given = [(status, body)]
    load = prometheus.load(NODES, [], WINDOW_S)
    assert load.cpu is None
    assert why in load.problem


def test_an_answer_that_is_not_whole_is_a_problem(prometheus: Prometheus, answers: Answers) -> None:
    answers.give(GOOD, [series(0.5)], warnings=["some stores did not answer"])
    load = prometheus.load(NODES, [], WINDOW_S)
    assert load.cpu is None
    assert "not whole: some stores did not answer" in load.problem


def test_a_server_that_trickles_is_not_waited_for(url: str, answers: Answers) -> None:
    answers.give(GOOD)
    answers.slowly = 0.05
    load = Prometheus(url, timeout_s=0.3, now_s=lambda: NOW_S).load(NODES, [], WINDOW_S)
    assert load.cpu is None
    assert "too slowly" in load.problem or "timed out" in load.problem


def test_no_server_and_no_worker_to_measure_are_problems(url: str) -> None:
    absent = Prometheus("http://127.0.0.1:1", now_s=lambda: NOW_S)
    assert "check prometheus_url" in absent.load(NODES, [], WINDOW_S).problem
    assert "no worker is Ready" in absent.load([node("i-1", ready=False)], [], WINDOW_S).problem
    assert Prometheus("nonsense://x").load(NODES, [], WINDOW_S).cpu is None


def test_a_long_question_is_posted(prometheus: Prometheus, answers: Answers) -> None:
    many = [node(f"i-{n:017x}") for n in range(500)]
    answers.give([s for each in many for s in worker(0.5, node=each.metadata.name)], [series(0.5)])
    assert prometheus.load(many, [], WINDOW_S).cpu == 0.5
    assert [method for method, _ in answers.asked] == ["GET", "POST"]


def test_ready_nodes_are_those_that_the_seeds_query_names(prometheus: Prometheus, answers: Answers) -> None:
    answers.give([series(1, node="i-1", condition="Ready"), series(1, node="i-2", condition="Ready")])
    assert prometheus.ready_nodes() == {"i-1", "i-2"}
    assert answers.asked == [("GET", 'kube_node_status_condition{condition="Ready",status="true"}==1')]


@pytest.mark.parametrize("given", [(200, b'{"status":"success","data":{"result":[]}}'), (500, b"")])
def test_no_answer_makes_no_node_unready(
    prometheus: Prometheus, answers: Answers, given: tuple[int, bytes]
) -> None:
    answers.given = [given]
    with pytest.raises(Busy):
        prometheus.ready_nodes()


def test_our_clock_is_asked_when_the_answer_is_there(url: str, answers: Answers) -> None:
    """A clock that was read before a slow answer would call that answer one from the future."""
    answers.give(GOOD, [series(0.5)])
    read: list[int] = []

    def now_s() -> float:
        read.append(len(answers.asked))
        return NOW_S

    Prometheus(url, now_s=now_s).load(NODES, [], WINDOW_S)
    assert set(read) == {1}
