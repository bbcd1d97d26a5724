"""Everything that an idle tick talks to, in a process of its own: its CPU time is not ours.

`python -m bench.grounds.world NODES PODS FOLDER` serves AWS and Prometheus on one port, and the Kubernetes
API by TLS on another, until its standard input ends.
"""

import json
import re
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from bench.grounds import lists

CLUSTER: Final = "bench"
TOKEN: Final = "a-token"
SPACE: Final = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'
SUBNETS: Final = {f"subnet-{n:08x}": zone for n, zone in enumerate(lists.ZONES)}


VOLUMES: Final = (
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/csinodes",
)
REPORTS_EVERY_S: Final = 300.0
"""So often does a kubelet report of a node on which nothing has changed."""


def _kube_system(n: int) -> dict[str, Any]:
    return {"metadata": {"name": "kube-system", "uid": "u-1", "resourceVersion": "9"}}


class Tables:
    """As much of DynamoDB as a record needs that has one writer."""

    def __init__(self) -> None:
        self.item: dict[str, Any] = {}

    def answer(self, action: str, asked: Mapping[str, Any]) -> Any:
        if action == "GetItem":
            return {"Item": self.item} if self.item and "sk" not in asked["Key"] else {}
        if action == "TransactWriteItems":
            self._update(asked["TransactItems"][0]["Update"])
        return {"Items": [], "Count": 0}

    def _update(self, update: Mapping[str, Any]) -> None:
        """Our own updates say `SET #name = :name … REMOVE #name …`, and nothing else."""
        values = update["ExpressionAttributeValues"]
        removed = re.findall(r"#(\w+)", update["UpdateExpression"].partition(" REMOVE ")[2])
        kept = {name: value for name, value in self.item.items() if name not in removed}
        new = {name[1:]: value for name, value in values.items() if not name.startswith(":old_")}
        self.item = {**kept, **new, **update["Key"]}


class World:
    def __init__(self, nodes: int, pods: int) -> None:
        self.nodes, self.tables = nodes, Tables()
        self.machines = lists.machines(nodes, CLUSTER)
        self.lists = {
            "/api/v1/namespaces/kube-system": [b'{"metadata": {"name": "kube-system", "uid": "u-1"}}'],
            "/api/v1/nodes": lists.pages("NodeList", lists.node, nodes),
            "/api/v1/pods": lists.pages("PodList", lambda n: lists.pod(n, nodes), pods),
            "/apis/policy/v1/poddisruptionbudgets": lists.pages("PodDisruptionBudgetList", lambda n: {}, 0),
            "/api/v1/namespaces": lists.pages("NamespaceList", _kube_system, 1),
            **{path: lists.pages("List", lambda n: {}, 0) for path in VOLUMES},
        }

    def kubernetes(self, target: str) -> bytes:
        at = urlsplit(target)
        start = int(parse_qs(at.query).get("continue", ["0"])[0])
        return self.lists[at.path][start // lists.PAGE]

    def aws(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        service, _, action = headers.get("X-Amz-Target", "").partition(".")
        if path.startswith("/api/v1/query"):
            return json.dumps(self._prometheus(path + body.decode())).encode()
        if service.startswith("DynamoDB"):
            return json.dumps(self.tables.answer(action, json.loads(body))).encode()
        if service == "AmazonSSM":
            return json.dumps({"Parameter": {"Name": "/token", "Value": TOKEN}}).encode()
        return self._ec2(parse_qs(body.decode())["Action"][0])

    def _prometheus(self, asked: str) -> Any:
        now_s = time.time()
        if "max_over_time" in asked:
            found = [{"metric": {}, "value": [now_s, "0.5"]}]
        else:
            figures = {"idle": "0.5", "cpus": "2", "at": str(now_s)}
            found = [
                {
                    "metric": {"instance": f"10.0.{n // 250}.{n % 250}:9100", "is": name},
                    "value": [now_s, value],
                }
                for n in range(self.nodes)
                for name, value in figures.items()
            ]
        return {"status": "success", "data": {"resultType": "vector", "result": found}}

    def _ec2(self, action: str) -> bytes:
        if action == "DescribeInstances":
            return self.machines
        inside = {
            "DescribeSubnets": "<subnetSet>"
            + "".join(
                f"<item><subnetId>{name}</subnetId><availabilityZone>{zone}</availabilityZone></item>"
                for name, zone in SUBNETS.items()
            )
            + "</subnetSet>",
            "DescribeInstanceTypes": "<instanceTypeSet><item><instanceType>t3.medium</instanceType>"
            "<vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>4096</sizeInMiB></memoryInfo>"
            "<processorInfo><supportedArchitectures><item>x86_64</item></supportedArchitectures></processorInfo>"
            "</item></instanceTypeSet>",
            "DescribeLaunchTemplateVersions": "<launchTemplateVersionSet/>",
            "DescribeSpotInstanceRequests": "<spotInstanceRequestSet/>",
            "DescribeSpotPriceHistory": "<spotPriceHistorySet/>",
        }[action]
        return f"<{action}Response {SPACE}><requestId>1</requestId>{inside}</{action}Response>".encode()


def _handler(world: World) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path.startswith("/api/v1/query"):
                return self._say(world.aws(self.path, dict(self.headers), b""))
            if "watch=true" in self.path:
                return self._watch()
            self._say(world.kubernetes(self.path))

        def _watch(self) -> None:
            """As a server that knows no initial list by streaming; of nodes, what their kubelets report."""
            at = urlsplit(self.path)
            query = parse_qs(at.query)
            if "sendInitialEvents" in query:
                return self._say(b'{"message": "sendInitialEvents is forbidden"}', 422)
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            every_s = REPORTS_EVERY_S / world.nodes if at.path == "/api/v1/nodes" else 2.0
            until_s = time.monotonic() + int(query["timeoutSeconds"][0])
            while (left_s := until_s - time.monotonic()) > 0:
                time.sleep(min(left_s, every_s))
                event = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
                if at.path == "/api/v1/nodes":
                    event = {"type": "MODIFIED", "object": lists.node(int(time.time() * 1_000) % world.nodes)}
                self._chunk(json.dumps(event).encode() + b"\n")
            self._chunk(b"")

        def _chunk(self, piece: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._say(world.aws(self.path, dict(self.headers), body))

        def _say(self, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def serve(world: World, folder: Path) -> None:
    plain, tls = (_Server(("127.0.0.1", 0), _handler(world)) for _ in range(2))
    proof = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    proof.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    tls.socket = proof.wrap_socket(tls.socket, server_side=True)
    for server in (plain, tls):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps([server.server_address[1] for server in (plain, tls)]), flush=True)
    sys.stdin.read()


def environment(aws_port: int, api_port: int, ca: str) -> dict[str, str]:
    """The settings of a function that lives in this world."""
    aws = f"http://127.0.0.1:{aws_port}"
    return {
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": aws,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CLUSTER_TAG_VALUE": CLUSTER,
        "STATE_TABLE": "bench-state",
        "LOGS_TABLE": "bench-logs",
        "PROMETHEUS_URL": aws,
        "K8S_API_URL": f"https://127.0.0.1:{api_port}",
        "K8S_CA": ca,
        "K8S_API_TOKEN_PARAM": "/token",
        "K3S_URL": f"https://127.0.0.1:{api_port}",
        "K3S_CLUSTER_TOKEN_PARAM": "/join",
        "K3S_CA_HASH": "0" * 64,
        "MAX_WORKERS": "2000",
        "WORKER_AMI_ID": "ami-0123456789abcdef0",
        "WORKER_SG_ID": "sg-0a1b2c3d",
        "WORKER_SUBNET_IDS": ",".join(SUBNETS),
        "WORKER_INSTANCE_TYPE": "t3.medium",
        "WORKER_INSTANCE_PROFILE": "worker",
    }


@contextmanager
def started(nodes: int, pods: int, folder: Path) -> Iterator[dict[str, str]]:
    """A world with so many of them; gives the environment of a function in it."""
    _certify(folder)
    argv = [sys.executable, "-m", "bench.grounds.world", str(nodes), str(pods), str(folder)]
    server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        aws_port, api_port = json.loads(server.stdout.readline())
        yield environment(aws_port, api_port, (folder / "cert.pem").read_text())
    finally:
        server.stdin.close()
        server.wait(30)
        server.stdout.close()


def _certify(folder: Path) -> None:
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    argv += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "30"]
    argv += ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(argv, check=True, capture_output=True)


if __name__ == "__main__":
    serve(World(int(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]))
