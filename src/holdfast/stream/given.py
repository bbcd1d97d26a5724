"""Settings of a worker, from arguments, and from the environment where there are none."""

from collections.abc import Mapping

from holdfast.kernel import Invalid
from holdfast.leases.settings import Settings
from holdfast.leases.settings.load import load


def settings_of(
    environ: Mapping[str, str], *, region: str, stream_name: str, app_name: str, worker_id: str
) -> Settings:
    """Raises InvalidSettings with everything that is wrong."""
    given = {
        "AWS_REGION": region,
        "STREAM_NAME": stream_name,
        "APP_NAME": app_name,
        "WORKER_ID": worker_id,
    }
    return load({}, {**environ, **{name: value for name, value in given.items() if value}}).settings


def refuse_disabled(settings: Settings) -> None:
    """Raises Invalid where ENABLE_DYNAMIC_MAX_LEASES says no: for what is nothing without an agreement."""
    if not settings.enable_dynamic_max_leases:
        raise Invalid(
            "enable_dynamic_max_leases is false: nothing is agreed on, and the KCL keeps the number that it "
            "has; set ENABLE_DYNAMIC_MAX_LEASES to true"
        )
