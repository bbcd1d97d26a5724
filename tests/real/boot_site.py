"""An account whose instances boot."""

from typing import Any

import pytest

from tests.real.account import Account
from tests.real.presence import nothing_may_be_absent
from tests.real.traces import wait_until
from tests.real.userdata import TOKEN
from tools.parts.boot.cluster import Join
from tools.parts.boot.start import Boot
from tools.parts.catalog.ec2 import Ec2
from tools.parts.part import Absent


def _booting(ec2: Ec2, join: Join) -> Boot:
    try:
        return ec2.boot(join)
    except Absent as error:
        if nothing_may_be_absent():
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


class Site:
    """An account whose instances boot."""

    def __init__(self, ec2: Ec2, join: Join) -> None:
        self.account, self.boot = Account(ec2), _booting(ec2, join)
        self._make_profile()
        self.account.client("ssm").put_parameter(Name="/k3s/token", Value=TOKEN, Type="SecureString")

    def launch(self, user_data: str | bytes, *, profile: bool = False, **wanted: Any) -> str:
        if profile:
            wanted["IamInstanceProfile"] = {"Name": "workers"}
        [instance] = self.account.run(UserData=user_data, **wanted)
        return instance

    def wait_to_join(self, instance: str) -> dict[str, Any]:
        wait_until(lambda: self.boot.node_of(instance) is not None, f"{instance} joins")
        node = self.boot.node_of(instance)
        assert node is not None
        return node

    def wait_for_console(self, instance: str, words: str) -> str:
        def shown() -> str:
            return str(self.account.api.get_console_output(InstanceId=instance).get("Output", ""))

        wait_until(lambda: words in shown(), f"the console of {instance} says: {words}")
        return shown()

    def assert_never_joins(self, instance: str, why: str) -> None:
        self.wait_for_console(instance, why)
        assert self.boot.node_of(instance) is None

    def _make_profile(self) -> None:
        iam = self.account.client("iam")
        iam.create_role(RoleName="worker", AssumeRolePolicyDocument="{}")
        iam.create_instance_profile(InstanceProfileName="workers")
        iam.add_role_to_instance_profile(InstanceProfileName="workers", RoleName="worker")
