"""EC2: what is there, and what we may do, by dry runs.  Nothing is launched, made or terminated."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.app.doctor.check import Check, allowed, failed, tried
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import ALIVE, Instance, Market, Offering
from holdfast.cloud.text import counted
from holdfast.kernel import HoldfastError, Invalid

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

    from holdfast.app.autoscaler.cloud import Ec2Cloud

EC2 = "EC2"
TYPES_TOLD_MAX = 8
LISTED = (
    "grant pricing:GetProducts, and let a function in a VPC reach the internet; or give on-demand prices in "
    "[autoscaler.usd_per_hour], and set on_demand_prices to settings"
)
OWN_TEMPLATE = (
    "its agent must set --kubelet-arg=provider-id=aws:///ZONE/INSTANCE-ID, "
    "--node-taint=holdfast.dev/joining=true:NoSchedule and --node-label=holdfast.dev/pool=POOL: "
    "a node that does not name its machine never joins"
)


def ec2(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.app.autoscaler import clients
    from holdfast.app.autoscaler.cloud import Ec2Cloud

    client = clients.ec2_client(settings, environ)
    prices = clients.price_list(settings, environ, client)
    cloud = Ec2Cloud(client, settings, price_list=prices)
    machines: list[Instance] = []
    yield tried(EC2, "ec2:DescribeInstances", lambda: _workers(cloud, machines))
    yield _control_plane(cloud, settings)
    for pool in settings.pools:
        yield from _pool(client, cloud, settings, pool)
    yield from _termination(client, machines)


def _workers(cloud: "Ec2Cloud", found: list[Instance]) -> str:
    found += cloud.instances()
    living = [each for each in found if each.state in ALIVE]
    ours = sum(each.is_ours for each in living)
    return f"{counted(len(living), 'worker')} alive, {ours} of them launched by Holdfast"


def _control_plane(cloud: "Ec2Cloud", settings: Settings) -> Check:
    """Only needed where an address is left open."""
    what = f"control plane tagged {settings.master_tag_key}={settings.master_tag_value}"
    try:
        address = cloud.control_plane_address()
    except HoldfastError as error:
        return failed(EC2, what, error)
    prometheus = settings.metrics == "prometheus" and not settings.prometheus_url
    api = bool(settings.k8s_api_token_param) and not settings.k8s_api_url
    if address or not (prometheus or api):
        return Check(
            EC2, what, True if address else None, address or "none is tagged; no address is left open"
        )
    fix = "tag it, with the cluster's tag too; or set prometheus_url and k8s_api_url"
    return Check(EC2, what, False, "none runs, and an address of it is needed", fix)


def _pool(client: "EC2Client", cloud: "Ec2Cloud", settings: Settings, pool: Pool) -> Iterator[Check]:
    from holdfast.adapters.aws.ec2 import dry_run

    called = f"pool {pool.name}"
    yield tried(EC2, f"{called}: subnets", lambda: _zones(cloud, pool))
    yield tried(EC2, f"{called}: instance types", lambda: _types(cloud, pool))
    yield _prices(cloud, settings, pool)
    try:
        types = _of(cloud, pool)
    except HoldfastError:
        types = ()  # told above
    try:
        template = cloud.templates([pool]).get(pool.name)
    except HoldfastError as error:
        yield failed(EC2, f"{called}: launch template", error)
        return
    says = (
        f"{template.template_id}, version {template.version}" if template else "is made by the first launch"
    )
    yield Check(EC2, f"{called}: launch template", True, says)
    if pool.launch_template_id:
        yield Check(EC2, f"{called}: an own template", None, OWN_TEMPLATE)
    else:
        yield from _making(client, settings, pool, types)
    if pool.subnet_ids and types:
        request = _launch_request(settings, pool, template, types[0])
        yield _dry(f"{called}: ec2:RunInstances", lambda: dry_run.run_instances(client, request), pool)


def _zones(cloud: "Ec2Cloud", pool: Pool) -> str:
    if not pool.subnet_ids:
        raise Invalid(f"subnet_ids of pool {pool.name} is empty: it cannot scale up; name at least one")
    return ", ".join(f"{subnet} in {zone}" for subnet, zone in cloud.subnets(pool.subnet_ids).items())


def _types(cloud: "Ec2Cloud", pool: Pool) -> str:
    shapes = cloud.shapes(_of(cloud, pool))
    wrong = [kind for kind, shape in shapes.items() if shape.architecture != pool.architecture]
    if wrong:
        raise Invalid(
            f"{', '.join(wrong)} of pool {pool.name} is not {pool.architecture}: "
            "correct instance_types or architecture"
        )
    told = [f"{kind} with {shape.cpu_m / 1000:g} cpu" for kind, shape in shapes.items()]
    more = f" and {len(told) - TYPES_TOLD_MAX} more" if len(told) > TYPES_TOLD_MAX else ""
    return ", ".join(told[:TYPES_TOLD_MAX]) + more


def _of(cloud: "Ec2Cloud", pool: Pool) -> tuple[str, ...]:
    """Those that the pool names, or that its requirements come to.  Raises Invalid if they come to none."""
    from holdfast.autoscaler.scheduling.machines.resolve import resolved

    if pool.requirements is None:
        return pool.instance_types
    return resolved(pool.requirements, pool.architecture, cloud.types())


def _prices(cloud: "Ec2Cloud", settings: Settings, pool: Pool) -> Check:
    what = f"pool {pool.name}: prices"
    try:
        zones = set(cloud.subnets(pool.subnet_ids).values())
        markets = (Market.SPOT, Market.ON_DEMAND) if pool.market == "spot" else (Market.ON_DEMAND,)
        wanted = [Offering(z, m, kind) for z in sorted(zones) for m in markets for kind in _of(cloud, pool)]
        known = cloud.prices(wanted)
    except HoldfastError as error:
        return failed(EC2, what, error)
    if not wanted:
        return Check(EC2, what, None, "no subnet, no zone, no price")
    unknown = sorted({f"{each.market} {each.instance_type}" for each in wanted if known.usd(each) is None})
    if not unknown:
        return Check(EC2, what, True, "all known")
    if known.problem:
        return Check(EC2, what, False, f"the price list does not answer: {known.problem}", LISTED)
    # Without a ceiling a missing price only leaves the cost unknown.
    ok = False if settings.usd_per_hour_max else None
    fix = "give on-demand prices in [autoscaler.usd_per_hour], or set on_demand_prices to price-list"
    more = f" and {len(unknown) - TYPES_TOLD_MAX} more" if len(unknown) > TYPES_TOLD_MAX else ""
    return Check(EC2, what, ok, f"not known: {', '.join(unknown[:TYPES_TOLD_MAX])}{more}", fix)


def _making(client: "EC2Client", settings: Settings, pool: Pool, types: tuple[str, ...]) -> Iterator[Check]:
    from holdfast.adapters.aws.ec2 import dry_run
    from holdfast.adapters.aws.ec2.templates import Templates, template_name
    from holdfast.app.autoscaler.cloud import tag_scheme, template_spec

    name = template_name(settings.cluster_name, pool.name)
    data = {"InstanceType": types[0]} if types else {}
    worn = tag_scheme(settings).of_template(pool.name)
    called = f"pool {pool.name}"
    yield _dry(
        f"{called}: ec2:CreateLaunchTemplate",
        lambda: dry_run.create_launch_template(client, name, data, worn),
        pool,
    )
    what = f"{called}: ec2:CreateLaunchTemplateVersion"
    if Templates(client, tag_scheme(settings)).exists(template_spec(pool, lambda _: "")):
        yield _dry(what, lambda: dry_run.create_launch_template_version(client, name, data), pool)
    else:
        # Under a condition on its tag, a role is refused for a template that is not there.
        yield Check(EC2, what, None, "cannot be tried before the first launch has made the template")


def _launch_request(settings: Settings, pool: Pool, template: Any, instance_type: str) -> dict[str, Any]:
    """As a launch would ask; before there is a template, with what it will be made from."""
    from holdfast.adapters.aws.ec2.launch import run_request
    from holdfast.adapters.aws.ec2.templates import template_data
    from holdfast.app.autoscaler.cloud import launch_request, template_spec

    launch = Launch(
        group=1,
        attempt=1,
        pool=pool.name,
        zone="",
        subnet_id=pool.subnet_ids[0],
        market=Market(pool.market),
        instance_type=instance_type,
        template_id=template.template_id if template else "",
        template_version=template.version if template else 0,
        count=1,
    )
    request = run_request(launch_request(settings, "0-doctor", launch))
    if template is None:
        del request["LaunchTemplate"]
        data = template_data(template_spec(pool, lambda _: "#!/bin/sh"))
        request |= {name: value for name, value in data.items() if name != "UserData"}
    return request


def _termination(client: "EC2Client", machines: list[Instance]) -> Iterator[Check]:
    """What may be terminated depends on its tags: only one of ours can show it."""
    from holdfast.adapters.aws.ec2 import dry_run

    one = next((each.instance_id for each in machines if each.is_ours and each.state in ALIVE), "")
    for what, ask in (
        ("ec2:TerminateInstances", lambda: dry_run.terminate_instances(client, one)),
        ("ec2:GetConsoleOutput", lambda: dry_run.get_console_output(client, one)),
    ):
        if one:
            yield allowed(EC2, what, ask)
        else:
            yield Check(EC2, what, None, "cannot be tried before Holdfast has launched a machine")


def _dry(what: str, ask: Callable[[], None], pool: Pool) -> Check:
    """As `allowed`; a refusal is told with the pool's setting behind it."""
    from holdfast.adapters.aws.ec2.launch import refusal
    from holdfast.adapters.aws.errors import Rejected

    def asked() -> None:
        try:
            ask()
        except Rejected as error:
            raise Invalid(refusal(error, pool.name).message) from error

    return allowed(EC2, what, asked)
