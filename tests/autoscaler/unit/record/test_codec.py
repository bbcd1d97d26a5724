"""The cluster's item: every attribute under its name, and items of the plain design are continued."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.codec import ATTRIBUTES, CODEC
from holdfast.autoscaler.record import (
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
    Unhelped,
)
from holdfast.cloud import Market, NoticeKind
from holdfast.kernel import Lock

IDS = st.text("abcdef0123456789", min_size=1, max_size=8).map("i-{}".format)
EPOCHS = st.integers(0, 2_000_000_000)
DOWN = st.builds(
    lambda n, at, ids, statuses: ScaleDown(f"{at}-req-{n}", at, tuple(map(Target, ids, statuses))),
    st.integers(0, 99),
    EPOCHS,
    st.lists(IDS, min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(Status), min_size=4, max_size=4),
)
LAUNCH = st.builds(
    Launch,
    group=st.integers(1, 40),
    attempt=st.integers(1, 8),
    pool=st.sampled_from(("default", "gpu")),
    zone=st.sampled_from(("a", "b")),
    subnet_id=st.sampled_from(("", "subnet-1")),
    market=st.sampled_from(Market),
    instance_type=st.just("t3.medium"),
    template_id=st.just("lt-1"),
    template_version=st.integers(0, 99),
    count=st.integers(0, 99),
    status=st.sampled_from(LaunchStatus),
    reason=st.text(max_size=9),
    at_s=EPOCHS,
    bound=st.booleans(),
)


def _up(at_s: int, requested: int, ids: list[str], rows: list[Launch]) -> ScaleUp:
    """Half of the instances came by intents, the rest from a writer without them."""
    asked, foreign = ids[: len(rows)], ids[len(rows) :]
    own = [replace(row, instance_ids=(i,)) for row, i in zip(rows, asked, strict=False)]
    launches = sorted((*own, *rows[len(asked) :]), key=lambda row: (row.group, row.attempt))
    return ScaleUp(
        f"{at_s}-req",
        at_s,
        requested,
        tuple(launches),
        joined=tuple(ids[:1]),
        lost=tuple(ids[1:2]),
        reason="pods are pending",
        foreign_ids=tuple(foreign),
    )


UP = st.builds(
    _up,
    EPOCHS,
    st.integers(0, 9),
    st.lists(IDS, max_size=4, unique=True),
    st.lists(LAUNCH, max_size=3, unique_by=lambda row: (row.group, row.attempt)),
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    up, down = draw(st.one_of(st.tuples(st.none(), st.none() | DOWN), st.tuples(UP, st.none())))
    unique = draw(st.lists(IDS, max_size=4, unique=True))
    condemned = dict.fromkeys([*unique[:1], *(down.having(Status.CONDEMNED) if down else ())])
    return Cluster(
        scale_up=up,
        scale_down=down,
        last_scale_s=draw(EPOCHS),
        pending_since_s=draw(EPOCHS),
        idle_since_s=draw(EPOCHS),
        worker_count=draw(st.integers(0, 500)),
        lock=Lock(draw(st.text(max_size=5)), float(draw(EPOCHS))),
        gone=tuple(Tombstone(i, draw(EPOCHS)) for i in unique),
        skipped=tuple(Skip(i, draw(st.text(max_size=9)), draw(EPOCHS)) for i in unique),
        strays=tuple(Cordon(i, f"action-{n}") for n, i in enumerate(unique)),
        condemned=tuple(Condemned(i, "act", "scale-down", draw(EPOCHS)) for i in condemned),
        interrupted=tuple(
            Interrupted(
                i, draw(st.sampled_from(NoticeKind)), draw(EPOCHS), draw(EPOCHS), "act", draw(st.booleans())
            )
            for i in unique
        ),
        recent=tuple(Recent(i, "default", "a", draw(EPOCHS)) for i in unique),
        missing=tuple(Missing(i, draw(EPOCHS)) for i in unique),
        unavailable=tuple(
            Unavailable(f"spot/{i}/a", draw(EPOCHS), "no capacity", draw(st.integers(1, 9))) for i in unique
        ),
        spent=tuple(
            Spent("act", draw(EPOCHS), n, draw(st.sampled_from(Purpose))) for n, _ in enumerate(unique)
        ),
        last_up_s=draw(EPOCHS),
        pool_failures=tuple(PoolFailure(i, draw(st.integers(0, 9)), draw(EPOCHS), "no") for i in unique),
        pools_idle=tuple(PoolIdle(i, draw(EPOCHS)) for i in unique),
        not_ready=tuple(NotReady(i, draw(EPOCHS)) for i in unique),
        unhelped=tuple(Unhelped(f"shop/ReplicaSet {i}", draw(EPOCHS)) for i in unique),
        hold_reason=draw(st.text(max_size=9)),
        paused_until_s=draw(EPOCHS),
        paused_why=draw(st.text(max_size=9)),
    )


@given(clusters())
def test_what_is_stored_is_what_is_read(cluster: Cluster) -> None:
    item = CODEC.encode(cluster)

    assert set(item) <= {attribute.name for attribute in ATTRIBUTES}
    assert CODEC.load(item, table="t", key="cluster") == cluster


def test_an_idle_item_of_the_plain_design_is_read() -> None:
    item = {
        "pk": "cluster",
        "scalingInProgress": False,
        "lastScaleEpoch": 1730000000,
        "pendingSinceEpoch": 0,
        "idleSinceEpoch": 1730000100,
        "workerCount": 2,
    }

    found = CODEC.load(item, table="t", key="cluster")

    assert found == Cluster(last_scale_s=1730000000, idle_since_s=1730000100, worker_count=2)


def test_a_scale_down_of_the_plain_design_goes_on_where_it_stopped() -> None:
    item = {
        "pk": "cluster",
        "scalingInProgress": True,
        "scaleDownActionId": "1730000300-req-xyz",
        "scaleDownStartedEpoch": 1730000300,
        "scaleDownPhase": "DRAINING",
        "scaleDownTargetInstanceIds": ["i-aaa", "i-bbb"],
        "scaleDownCompletedInstanceIds": ["i-aaa"],
    }

    down = CODEC.load(item, table="t", key="cluster").scale_down

    assert down is not None
    assert down.having(Status.GONE) == ("i-aaa",)
    assert down.having(Status.PLANNED) == ("i-bbb",)


def test_the_phase_is_draining_until_every_target_is_decided() -> None:
    def phase(*statuses: Status) -> object:
        targets = tuple(Target(f"i-{n}", status) for n, status in enumerate(statuses))
        return CODEC.encode(Cluster(scale_down=ScaleDown("1-r", 1, targets)))["scaleDownPhase"]

    assert phase(Status.PLANNED, Status.CONDEMNED) == "DRAINING"
    assert phase(Status.CONDEMNED, Status.GONE) == "TERMINATING"
