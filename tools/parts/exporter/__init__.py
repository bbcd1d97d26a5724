"""node-exporter and kube-state-metrics for nodes that are not there.

KWOK's nodes have no CPU to measure.  This program lists nodes and pods from a real
Kubernetes API at every scrape and says what the two exporters would say: a node is as
busy as the running pods bound to it ask for, or as their annotation
`holdfast.test/cpu-usage` tells.  Only the standard library; nothing here knows the
product or Prometheus itself.
"""
