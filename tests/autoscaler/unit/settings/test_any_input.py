"""Whatever stands in the file or in the environment: settings, or all problems in words."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.settings.load import SCHEMA, load
from holdfast.autoscaler.settings.tables import DRAIN, POOL, SETTINGS
from holdfast.settings import InvalidSettings

LEAVES = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["default", "gpu", "0.5", "7"]),
)
VALUES = st.recursive(
    LEAVES, lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=5), some, max_size=3)
)
ONE_POOL = st.dictionaries(st.sampled_from([*POOL.keys, "nam"]), VALUES, max_size=4)
POOLS = st.lists(ONE_POOL, max_size=3) | st.dictionaries(
    st.sampled_from(["default", "gpu", "A"]), ONE_POOL, max_size=2
)
DRAINS = st.dictionaries(st.sampled_from([*DRAIN.keys, "kube"]), VALUES, max_size=3)
TABLE = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys((*SETTINGS.keys, "cpu_upp"), VALUES)
    | {"pools": POOLS | VALUES, "drain": DRAINS | VALUES},
)
FILES = st.dictionaries(st.sampled_from(["autoscaler", "failover", "other"]), TABLE | VALUES, max_size=2)
ENVIRONS = st.dictionaries(
    st.sampled_from(sorted(SCHEMA.environment)) | st.text(max_size=8), st.text(max_size=12), max_size=6
)


@given(FILES, ENVIRONS)
def test_nothing_but_settings_or_a_list_of_problems_comes_out(
    toml: dict[str, Any], environ: dict[str, str]
) -> None:
    answer = _answer(toml, environ)

    if isinstance(answer, Settings):
        assert answer.min_workers <= answer.max_workers
        assert 0 < answer.cpu_down < answer.cpu_up <= 1
    else:
        assert answer
        assert all(problem.strip() for problem in answer)


def _answer(toml: dict[str, Any], environ: dict[str, str]) -> Settings | tuple[str, ...]:
    try:
        return load(toml, environ).settings
    except InvalidSettings as refused:
        return refused.problems
