"""The whole autoscaler on the real parts: control plane with KWOK, EC2 that boots, DynamoDB, Prometheus."""
