"""What each setting of the autoscaler must be, by itself."""

from collections.abc import Mapping

from holdfast.settings.ranges import (
    COUNT,
    DAY_S,
    PART,
    SECONDS,
    SHARE,
    SOME,
    SOME_SECONDS,
    Range,
    Shape,
)

RANGES: Mapping[str, Range] = {
    "cpu_up": PART,
    "cpu_down": PART,
    "pending_up_s": SECONDS,
    "idle_down_s": SECONDS,
    "cooldown_up_s": SECONDS,
    "cooldown_down_s": SECONDS,
    "min_workers": COUNT,
    "max_workers": COUNT,
    "max_batch_up": SOME,
    "max_batch_down": SOME,
    "join_timeout_s": SOME_SECONDS,
    "on_demand_max_fraction": SHARE,
    "usd_per_hour_max": Range(0),
    "offerings_min": Range(1, 12),
    "spot_refusals_max": COUNT,
    "spot_patience_s": SECONDS,
    "launches_per_hour_max": COUNT,
    "repairs_per_hour_max": COUNT,
    "rebalances_per_hour_max": COUNT,
    "unavailable_s": SECONDS,
    "unavailable_max_s": SECONDS,
    "back_off_first_s": SOME_SECONDS,
    "back_off_max_s": SOME_SECONDS,
    "drain_timeout_s": SOME_SECONDS,
    "scale_down_stuck_s": SOME_SECONDS,
    "skip_s": SECONDS,
    "after_cordon_s": SECONDS,
    "notify_after_s": SECONDS,
    "lock_ttl_s": Range(1, DAY_S),
    "remember_s": Range(300, DAY_S),
    "absent_s": Range(60, DAY_S),
    "sweep_batch": SOME,
    "sweep_per_hour": SOME,
    "sweep_after_s": SECONDS,
    "not_ready_s": SECONDS,
    "brake_not_ready_fraction": PART,
    "brake_absent_fraction": PART,
    "prom_nodeport": Range(1, 65_535),
    "metrics_max_age_s": SOME_SECONDS,
    "pods_per_node": Range(1, 1_000),
}

TABLE = Shape(r"(?a:[\w.-]{3,255})", "a table name of 3 to 255 letters, digits, dots, dashes or underscores")
TAG_KEY = Shape(r"(?!aws:).{1,128}", "a tag key of 1 to 128 characters that does not begin with aws:")
TAG_VALUE = Shape(r".{1,256}", "a tag value of 1 to 256 characters")
PARAMETER = Shape(
    # Not the token itself, which begins with eyJ or has colons in it.
    r"(?a:((?!eyJ)/?[\w.-]+(/[\w.-]+)*)?)",
    "the name of an SSM parameter, such as /k3s-autoscaler/token",
)
URL_REST = r"[^\s/?#@]+(:\d+)?(/\S*)?"
PROTECTED_URL = rf"((https://|http://(?=127\.|localhost|\[::1\])){URL_REST})?"
"""Unprotected only on this very machine."""

SHAPES: Mapping[str, Shape] = {
    "cluster_name": Shape(r"[\w .:/=+@-]{1,128}", "a name of 1 to 128 letters, digits or . : / = + @ - _"),
    "state_table": TABLE,
    "logs_table": TABLE,
    "cluster_tag_key": TAG_KEY,
    "worker_tag_key": TAG_KEY,
    "master_tag_key": TAG_KEY,
    "worker_tag_value": TAG_VALUE,
    "master_tag_value": TAG_VALUE,
    "region": Shape(r"([a-z]{2,}(-[a-z]+)+-\d+)?", "a region such as eu-central-1"),
    "metrics": Shape(r"prometheus|metrics-server|requests", "prometheus, metrics-server or requests"),
    "on_demand_prices": Shape(r"settings|price-list", "settings or price-list"),
    "join_check": Shape(r"kubernetes|prometheus", "kubernetes or prometheus"),
    "prometheus_url": Shape(rf"(https?://{URL_REST})?", "an address such as http://10.0.0.5:30900"),
    "k8s_api_url": Shape(PROTECTED_URL, "an address such as https://10.0.0.5:6443"),
    "k3s_url": Shape(rf"(https://{URL_REST})?", "an address such as https://10.0.0.5:6443"),
    "notice_queue_url": Shape(
        rf"(https?://{URL_REST})?",
        "an address such as https://sqs.eu-central-1.amazonaws.com/123456789012/notices",
    ),
    "notify_webhook_url": Shape(PROTECTED_URL, "an address such as https://hooks.example.com/holdfast"),
    "notify_webhook_secret": Shape(
        r"(?s:(?!whsec_).*)|whsec_([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)",
        "whsec_ and the key in base64, or any text that begins otherwise",
    ),
    "notify_slack_url": Shape(PROTECTED_URL, "an address such as https://hooks.slack.com/services/T0/B0/…"),
    "notify_sns_topic_arn": Shape(
        r"(arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}(\.fifo)?)?",
        "a topic such as arn:aws:sns:eu-central-1:123456789012:alerts",
    ),
    "k3s_version": Shape(r"v\d+\.\d+\.\d+\+k3s\d+", "a release such as v1.33.5+k3s1"),
    "k3s_ca_hash": Shape(r"([0-9a-f]{64})?", "the SHA-256 of the server's CA, 64 hexadecimal digits"),
    "k8s_ca": Shape(r"(-----BEGIN |LS0tLS1CRUdJTi)[\s\S]+|", "a certificate as PEM, or as base64 of PEM"),
    "k8s_api_token_param": PARAMETER,
    "k3s_cluster_token_param": PARAMETER,
}

DISRUPTION_RANGES: Mapping[str, Range] = {
    "empty_down_s": SECONDS,
    "underused_below": SHARE,
    "underused_down_s": SECONDS,
    "saving_min": SHARE,
    "share_per_hour": PART,
    "max_age_s": SECONDS,
}

POOL_RANGES: Mapping[str, Range] = {
    "min_workers": COUNT,
    "max_workers": COUNT,
    "vcpus_max": COUNT,
    "memory_gib_max": Range(0, 10_000_000),
    "weight": COUNT,
    "launch_template_version": COUNT,
    "disk_gib": Range(0, 16_384),
    "imds_hop_limit": Range(1, 64),
}

POOL_SHAPES: Mapping[str, Shape] = {
    "name": Shape(
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        "a name of at most 63 small letters, digits and dashes between them",
    ),
    "instance_types": Shape(r"[a-z0-9-]+\.[a-z0-9-]+", "an instance type such as t3.medium"),
    "architecture": Shape(r"amd64|arm64", "amd64 or arm64"),
    "subnet_ids": Shape(r"subnet-[0-9a-z]+", "a subnet such as subnet-0a1b2c3d"),
    "ami_id": Shape(r"(ami-[0-9a-z]+)?", "an image such as ami-0a1b2c3d"),
    "security_group_ids": Shape(r"sg-[0-9a-z]+", "a security group such as sg-0a1b2c3d"),
    "launch_template_id": Shape(r"(lt-[0-9a-z]+)?", "a launch template such as lt-0a1b2c3d"),
    "disk_device": Shape(r"/dev/\w+", "a device such as /dev/xvda"),
    "market": Shape(r"spot|on-demand", "spot or on-demand"),
}
