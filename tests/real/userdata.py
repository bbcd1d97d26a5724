"""User data as launch templates carry it."""

SERVER, TOKEN = "https://127.0.0.1:6443", "sesame"

JOINING = """#!/bin/bash
set -euo pipefail
IMDS=http://169.254.169.254/latest
SESSION=$(curl -sf -X PUT $IMDS/api/token -H "X-aws-ec2-metadata-token-ttl-seconds: 60")
about() { curl -sf -H "X-aws-ec2-metadata-token: $SESSION" $IMDS/meta-data/$1; }
ID=$(about instance-id)
ZONE=$(about placement/availability-zone)
TOKEN=$(aws ssm get-parameter --region us-east-1 --name /k3s/token --with-decryption \
  --query Parameter.Value --output text)
curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION=v1.36.2+k3s1 K3S_URL=%(server)s K3S_TOKEN=$TOKEN \
  INSTALL_K3S_EXEC="agent --node-name $ID" sh -s - \
  --node-label pool=default --node-label "holdfast.dev/instance=$ID" \
  --node-taint holdfast.dev/unconfirmed=true:NoSchedule \
  --kubelet-arg=provider-id=aws:///$ZONE/$ID
echo "the agent is up"
"""


def joining(server: str = SERVER) -> str:
    """Reads its identity and the cluster's token, and installs an agent."""
    return JOINING % {"server": server}


def agent(words: str = "", *, server: str = SERVER, token: str = TOKEN) -> str:
    """The same, in one line and without AWS."""
    install = f"curl -sfL https://get.k3s.io | K3S_URL={server} K3S_TOKEN={token} sh -s - agent {words}"
    return f"#!/bin/sh\n{install}\n"
