"""Nodes, pods and machines as real servers list them: with everything that we do not read, too."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from holdfast.cloud.launches import launch_token

PAGE: Final = 500
ZONES: Final = ("us-east-1a", "us-east-1b", "us-east-1c")
BORN: Final = "2026-01-31T12:00:00Z"


def instance_id(n: int) -> str:
    return f"i-{n:017x}"


def node_name(n: int) -> str:
    return instance_id(n)


def node(n: int) -> dict[str, Any]:
    name, zone = node_name(n), ZONES[n % 3]
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "k3s",
        "topology.kubernetes.io/zone": zone,
        "holdfast.dev/instance-id": name,
        "holdfast.dev/pool": "default",
    }
    amounts = {"cpu": "2", "ephemeral-storage": "19203060Ki", "memory": "3915000Ki", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "uid": f"{n:08x}-1111-4111-8111-000000000000",
            "resourceVersion": str(1_000_000 + n),
            "creationTimestamp": BORN,
            "labels": labels,
            "annotations": {
                "k3s.io/internal-ip": f"10.0.{n // 250}.{n % 250}",
                "k3s.io/node-args": "x" * 300,
            },
            "managedFields": _managed(12),
        },
        "spec": {"podCIDR": f"10.42.{n % 256}.0/24", "providerID": f"aws:///{zone}/{name}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {
                    "type": kind,
                    "status": "True" if kind == "Ready" else "False",
                    "lastHeartbeatTime": BORN,
                    "lastTransitionTime": BORN,
                    "reason": f"Kubelet{kind}",
                    "message": f"kubelet says {kind}",
                }
                for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
            ],
            "addresses": [{"type": "InternalIP", "address": f"10.0.{n // 250}.{n % 250}"}],
            "nodeInfo": {
                "kubeletVersion": "v1.33.5+k3s1",
                "osImage": "Amazon Linux 2023",
                "architecture": "amd64",
            },
            "images": [
                {"names": [f"registry.example/app/{i}@sha256:{'0' * 64}"], "sizeBytes": 10**8 + i}
                for i in range(20)
            ],
        },
    }


def pod(n: int, nodes: int) -> dict[str, Any]:
    app = f"app-{n % 97}"
    env = [{"name": f"SETTING_{i}", "value": f"value of setting {i}"} for i in range(4)]
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10}
    mount = {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}
    container = {
        "name": "main",
        "image": f"registry.example/team/{app}:1.{n % 40}.0",
        "env": env,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "volumeMounts": [mount],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{app}-7d9c5b8f6d",
        "uid": "1",
        "controller": True,
    }
    return {
        "metadata": {
            "name": f"{app}-7d9c5b8f6d-{n:05x}",
            "generateName": f"{app}-7d9c5b8f6d-",
            "namespace": f"team-{n % 23}",
            "uid": f"{n:08x}-2222-4222-8222-000000000000",
            "resourceVersion": str(2_000_000 + n),
            "creationTimestamp": BORN,
            "labels": {"app": app, "pod-template-hash": "7d9c5b8f6d", "team": f"team-{n % 23}"},
            "ownerReferences": [owner],
            "managedFields": _managed(4),
        },
        "spec": {
            "volumes": [{"name": "kube-api-access", "projected": {"sources": [], "defaultMode": 420}}],
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "nodeName": node_name(n % nodes),
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
            "priority": 0,
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": BORN}
                for kind in (
                    "PodReadyToStartContainers",
                    "Initialized",
                    "Ready",
                    "ContainersReady",
                    "PodScheduled",
                )
            ],
            "hostIP": "10.0.1.1",
            "podIP": "10.42.1.1",
            "startTime": BORN,
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {"running": {"startedAt": BORN}},
                    "ready": True,
                    "restartCount": 0,
                    "image": container["image"],
                    "imageID": f"registry.example/team/{app}@sha256:{'a' * 64}",
                    "containerID": f"containerd://{'b' * 64}",
                }
            ],
            "qosClass": "Burstable",
        },
    }


def _managed(fields: int) -> list[dict[str, Any]]:
    """A third of every object, and of no use to us."""
    inside: dict[str, Any] = {f"f:field{i}": {"f:inner": {}, "f:other": {}} for i in range(fields)}
    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": BORN,
            "fieldsV1": {"f:spec": inside},
        }
        for manager in ("kube-controller-manager", "k3s")
    ]


def pages(kind: str, make: Callable[[int], dict[str, Any]], count: int) -> Sequence[bytes]:
    """A list in chunks, each naming the next; at least one."""
    starts = range(0, count, PAGE) or range(1)
    return [
        json.dumps(
            {
                "kind": kind,
                "apiVersion": "v1",
                "metadata": {
                    "resourceVersion": "9",
                    "continue": str(start + PAGE) if start + PAGE < count else "",
                },
                "items": [make(n) for n in range(start, min(start + PAGE, count))],
            },
            separators=(",", ":"),
        ).encode()
        for start in starts
    ]


MACHINE: Final = """<item><instanceId>{id}</instanceId><imageId>ami-0123456789abcdef0</imageId>
<instanceState><code>16</code><name>running</name></instanceState>
<privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName><dnsName/><reason/><amiLaunchIndex>0</amiLaunchIndex>
<productCodes/><instanceType>t3.medium</instanceType><launchTime>2026-01-31T12:00:00.000Z</launchTime>
<placement><availabilityZone>{zone}</availabilityZone><groupName/><tenancy>default</tenancy></placement>
<monitoring><state>disabled</state></monitoring><subnetId>subnet-{zone}</subnetId><vpcId>vpc-1</vpcId>
<privateIpAddress>10.0.0.1</privateIpAddress><sourceDestCheck>true</sourceDestCheck>
<groupSet><item><groupId>sg-1</groupId><groupName>workers</groupName></item></groupSet>
<architecture>x86_64</architecture><rootDeviceType>ebs</rootDeviceType><rootDeviceName>/dev/xvda</rootDeviceName>
<blockDeviceMapping><item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-1</volumeId><status>attached</status>
<attachTime>2026-01-31T12:00:00.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></ebs></item>
</blockDeviceMapping><virtualizationType>hvm</virtualizationType><clientToken>{token}</clientToken>
<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1</spotInstanceRequestId><tagSet>{tags}</tagSet>
<hypervisor>xen</hypervisor><networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId>
<subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId><description/><ownerId>1</ownerId><status>in-use</status>
<macAddress>02:00:00:00:00:01</macAddress><privateIpAddress>10.0.0.1</privateIpAddress>
<sourceDestCheck>true</sourceDestCheck><groupSet><item><groupId>sg-1</groupId><groupName>workers</groupName></item>
</groupSet><attachment><attachmentId>eni-attach-1</attachmentId><deviceIndex>0</deviceIndex><status>attached</status>
<attachTime>2026-01-31T12:00:00.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></attachment>
<privateIpAddressesSet><item><privateIpAddress>10.0.0.1</privateIpAddress><primary>true</primary></item>
</privateIpAddressesSet></item></networkInterfaceSet>
<iamInstanceProfile><arn>arn:aws:iam::1:instance-profile/worker</arn><id>AIPA1</id></iamInstanceProfile>
<ebsOptimized>false</ebsOptimized><enaSupport>true</enaSupport>
<cpuOptions><coreCount>1</coreCount><threadsPerCore>2</threadsPerCore></cpuOptions>
<metadataOptions><state>applied</state><httpTokens>required</httpTokens><httpEndpoint>enabled</httpEndpoint>
</metadataOptions></item>"""


ACTION = "1769860800-r-1"


def machine(n: int, cluster: str) -> str:
    worn = {
        "Name": f"{cluster}-default",
        "Cluster": cluster,
        "Role": "k3s-worker",
        "holdfast:action": ACTION,
        "holdfast:pool": "default",
        "holdfast:group": "0",
        "aws:ec2launchtemplate:id": "lt-1",
        "aws:ec2launchtemplate:version": "1",
    }
    tags = "".join(f"<item><key>{key}</key><value>{value}</value></item>" for key, value in worn.items())
    return MACHINE.format(
        id=instance_id(n), zone=ZONES[n % 3], token=launch_token(ACTION, n + 1, 1), tags=tags
    )


def machines(count: int, cluster: str) -> bytes:
    """One answer of DescribeInstances; each machine in a reservation of its own, as launches make them."""
    sets = "".join(
        f"<item><reservationId>r-{n}</reservationId><ownerId>1</ownerId><groupSet/>"
        f"<instancesSet>{machine(n, cluster)}</instancesSet></item>"
        for n in range(count)
    )
    space = "http://ec2.amazonaws.com/doc/2016-11-15/"
    return (
        f'<DescribeInstancesResponse xmlns="{space}"><requestId>1</requestId>'
        f"<reservationSet>{sets}</reservationSet></DescribeInstancesResponse>"
    ).encode()
