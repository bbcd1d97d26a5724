"""Any record and any snapshot, well-formed or not likely: what a step must answer without an error."""

from dataclasses import replace

from hypothesis import strategies as st

from holdfast.autoscaler.ports import (
    Admit,
    CordonNode,
    DeleteNode,
    Drain,
    Drained,
    Effect,
    LaunchInstances,
    Load,
    Terminate,
    Uncordon,
)
from holdfast.autoscaler.record import (
    DECLINED,
    READY,
    UNNEEDED,
    Cluster,
    Condemned,
    Cordon,
    Interrupted,
    Launch,
    LaunchStatus,
    Missing,
    NotReady,
    PoolFailure,
    PoolIdle,
    Purpose,
    Recent,
    ScaleDown,
    ScaleUp,
    Skip,
    Spent,
    Status,
    Target,
    Tombstone,
    Unavailable,
    Underused,
    Unhelped,
)
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Ghost, Need, Place, Snapshot, Worker
from holdfast.cloud import Instance, Market, Notice, NoticeKind, Offering, Prices, State
from holdfast.cloud.launches import Launched, Refusal, Refused, Template
from holdfast.kernel import Busy, Happened, Outcome, Unknown

NOW_S = 100_000
IDS = tuple(f"i-{n}" for n in range(1, 7))
ACTIONS = ("90000-a", "99000-b", "100000-c")
ZONES = ("a", "b")
POOLS = ("default", "gpu")
OWNERS = ("shop/ReplicaSet web", "shop/StatefulSet db")

ids, actions, zones, pools = map(st.sampled_from, (IDS, ACTIONS, ZONES, POOLS))
timestamps = st.sampled_from((0, NOW_S - 4_000, NOW_S - 700, NOW_S - 400, NOW_S - 90, NOW_S, NOW_S + 50))
since = st.sampled_from((NOW_S - 4_000, NOW_S - 700, NOW_S - 400, NOW_S - 90, NOW_S, NOW_S + 50))
few = st.integers(0, 3)

launches = st.builds(
    Launch,
    group=st.integers(1, 3),
    attempt=st.sampled_from((1, 2, 8)),
    pool=pools,
    zone=zones,
    subnet_id=st.just("subnet"),
    market=st.sampled_from(Market),
    instance_type=st.just("t3.medium"),
    template_id=st.just("lt-1"),
    template_version=st.just(1),
    count=few,
    status=st.sampled_from(LaunchStatus),
    at_s=since,
    bound=st.booleans(),
    purpose=st.sampled_from(Purpose),
    reason=st.sampled_from(("", "refused: no", "capacity: none")),
)


@st.composite
def scale_ups(draw: st.DrawFn) -> ScaleUp:
    """An open scale-up: each machine belongs to one request."""
    rows = sorted(
        draw(st.lists(launches, max_size=3, unique_by=lambda row: row.group)), key=lambda row: row.group
    )
    named = draw(st.permutations(IDS))
    given: list[Launch] = []
    for row in rows:
        n = draw(st.integers(0, row.count)) if row.status is LaunchStatus.ANSWERED else 0
        given.append(replace(row, instance_ids=tuple(named[:n])))
        named = named[n:]
    launched = [i for row in given for i in row.instance_ids]
    split = draw(st.lists(st.sampled_from(("joining", "joined", "lost")), min_size=6, max_size=6))
    fate = dict(zip(launched, split, strict=False))
    return ScaleUp(
        draw(actions),
        draw(since),
        draw(st.integers(0, 6)),
        tuple(given),
        tuple(i for i in launched if fate[i] == "joined"),
        tuple(i for i in launched if fate[i] == "lost"),
    )


scales_down = st.builds(
    ScaleDown,
    action_id=actions,
    started_s=since,
    targets=st.lists(
        st.builds(Target, ids, st.sampled_from(Status)),
        min_size=1,
        max_size=3,
        unique_by=lambda t: t.instance_id,
    ).map(tuple),
)
replacements = st.one_of(st.sampled_from(("", READY, UNNEEDED, DECLINED)), actions)


def rows(
    strategy: st.SearchStrategy[object], key: str = "instance_id"
) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=3, unique_by=lambda row: getattr(row, key)).map(tuple)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    action = draw(st.sampled_from(("", "", "up", "down")))
    return Cluster(
        scale_up=draw(scale_ups()) if action == "up" else None,
        scale_down=draw(scales_down) if action == "down" else None,
        last_scale_s=draw(timestamps),
        last_up_s=draw(timestamps),
        pending_since_s=draw(timestamps),
        idle_since_s=draw(timestamps),
        gone=draw(rows(st.builds(Tombstone, ids, since))),  # type: ignore[arg-type]
        skipped=draw(rows(st.builds(Skip, ids, st.just("a pod"), since))),  # type: ignore[arg-type]
        strays=draw(rows(st.builds(Cordon, ids, actions))),  # type: ignore[arg-type]
        condemned=draw(rows(st.builds(Condemned, ids, actions, st.just("why"), since))),  # type: ignore[arg-type]
        interrupted=draw(
            rows(  # type: ignore[arg-type]
                st.builds(
                    Interrupted, ids, st.sampled_from(NoticeKind), since, since, replacements, st.booleans()
                )
            )
        ),
        recent=draw(rows(st.builds(Recent, ids, pools, zones, since))),  # type: ignore[arg-type]
        missing=draw(rows(st.builds(Missing, ids, since))),  # type: ignore[arg-type]
        unavailable=draw(
            rows(  # type: ignore[arg-type]
                st.builds(
                    Unavailable,
                    st.sampled_from(("spot/standard", "spot/t3.medium/a", "subnet-b", "gpu/t3.medium")),
                    since,
                    st.just("full"),
                ),
                "offering",
            )
        ),
        spent=tuple(
            draw(
                st.lists(
                    st.builds(Spent, actions, since, st.integers(1, 9), st.sampled_from(Purpose)), max_size=4
                )
            )
        ),
        pool_failures=draw(
            rows(st.builds(PoolFailure, pools, few, since, st.just("no")), "pool")  # type: ignore[arg-type]
        ),
        pools_idle=draw(rows(st.builds(PoolIdle, pools, since), "pool")),  # type: ignore[arg-type]
        not_ready=draw(rows(st.builds(NotReady, ids, since))),  # type: ignore[arg-type]
        underused=draw(
            rows(st.builds(Underused, ids, since, st.one_of(st.just(0), since)))  # type: ignore[arg-type]
        ),
        unhelped=draw(rows(st.builds(Unhelped, st.sampled_from(OWNERS), since), "pods")),  # type: ignore[arg-type]
        paused_until_s=draw(timestamps),
    )


workers = st.builds(
    lambda instance, joined, ready, joining, cordons, by_hand: Worker(
        instance=instance,
        node_name=f"node-{instance.instance_id}" if joined else "",
        node_uid="uid" if joined else "",
        ready=joined and ready,
        joining=joined and joining,
        cordons=cordons if joined else frozenset(),
        cordoned=joined and (bool(cordons) or by_hand),
    ),
    st.builds(
        Instance,
        ids,
        st.sampled_from(State),
        zones,
        st.just("t3.medium"),
        st.sampled_from(Market),
        since,
        pools,
        st.one_of(st.just(""), actions),
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.frozensets(actions, max_size=2),
    st.booleans(),
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    pending = draw(few)
    fits = draw(st.sampled_from(("", "a pod finds no place")))
    zone = draw(st.sampled_from(("", *ZONES)))
    prepared = draw(st.booleans())
    listed = tuple(draw(st.lists(workers, max_size=6, unique_by=lambda worker: worker.instance_id)))
    absent = [i for i in IDS if i not in {worker.instance_id for worker in listed}]
    return Snapshot(
        owner="me",
        workers=listed,
        ghosts=tuple(Ghost(i, f"node-{i}", "uid", None) for i in absent[: draw(few)]),
        pending=pending,
        pending_pools=draw(st.sampled_from((None, frozenset[str](), frozenset({"gpu"})))),
        unhelped=dict.fromkeys(draw(st.lists(st.sampled_from(OWNERS), unique=True)), "it stands empty"),
        waiting=frozenset(draw(st.lists(st.sampled_from(OWNERS), unique=True))),
        pool_problems=draw(st.sampled_from(({}, {"gpu": "no image"}))),
        needs=lambda n: (Need("default", pending - n, zone=zone),) if pending > n else (),
        must_stay=lambda i: fits,
        fits_without=lambda leaving, closed: fits,
        load=Load(draw(st.sampled_from((None, 0.1, 0.5, 0.9)))),
        notices=tuple(
            draw(
                st.lists(
                    st.builds(
                        Notice, ids, st.sampled_from(NoticeKind), since, st.sampled_from((0, NOW_S + 60))
                    ),
                    max_size=3,
                    unique_by=lambda notice: notice.key,
                )
            )
        ),
        templates={pool: Template("lt-1", 1, "d") for pool in POOLS} if prepared else {},
        digests=dict.fromkeys(POOLS, "d"),
        places=tuple(
            Place(pool, z, f"subnet-{z}") for pool in POOLS for z in draw(st.lists(zones, unique=True))
        ),
        prices=Prices({Offering(z, m, "t3.medium"): 0.1 for z in ZONES for m in Market}),
        troubles=draw(st.sampled_from(((), ("2 of 3 nodes are not ready at once",)))),
    )


settings = st.builds(
    Settings,
    min_workers=few,
    max_workers=st.integers(3, 6),
    max_batch_down=st.integers(1, 2),
    rebalance_replaces=st.booleans(),
    remember_s=st.sampled_from((300, 600, 5_000)),
    absent_s=st.just(300),
    usd_per_hour_max=st.sampled_from((0.0, 0.35)),
    on_demand_max_fraction=st.sampled_from((0.0, 0.5, 1.0)),
    launches_per_hour_max=st.sampled_from((0, 3)),
    pools=st.just((Pool(), Pool(name="gpu", min_workers=1, max_workers=2))),
)

effects: st.SearchStrategy[Effect] = st.one_of(
    st.builds(Drain, ids, st.one_of(actions, ids.map(lambda i: f"interruption-{i}"))),
    st.builds(CordonNode, ids, actions),
    st.builds(Uncordon, ids, actions),
    st.builds(Terminate, ids),
    st.builds(Admit, ids),
    st.builds(DeleteNode, ids, st.just("node"), st.just("uid")),
    st.builds(LaunchInstances, actions, launches),
)
answers = st.one_of(
    st.none(),
    st.builds(Drained, st.sampled_from(("", "a pod")), few),
    st.builds(Launched, st.lists(ids, max_size=2, unique=True).map(tuple)),
    st.builds(Refused, st.sampled_from(Refusal), st.just("no")),
)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    answers.map(Happened), st.just(Busy("throttled")), st.just(Unknown("no answer"))
)
