"""What stands between the caller and moto for the EC2 actions that moto gets wrong."""

import base64
import random
import time
from typing import Any

from tools.parts.ec2.api.errors import AwsError
from tools.parts.ec2.api.faults import Fault, refusal
from tools.parts.ec2.api.spot_requests import spot_requests_answer
from tools.parts.ec2.api.wire import Answer, Call, console_answer, error_answer, error_code
from tools.parts.ec2.log import stamp
from tools.parts.ec2.machines.instance import Tracked
from tools.parts.ec2.machines.launch import LaunchRequest, read_launch
from tools.parts.ec2.machines.listing import LAGGING, as_listed
from tools.parts.ec2.machines.tokens import Launch, gone
from tools.parts.ec2.machines.world import World


class Lost(Exception):
    """The call was carried out and its answer must not arrive."""


class Front:
    """Answers EC2 calls."""

    def __init__(self, world: World) -> None:
        self.world = world

    def answer(self, call: Call) -> Answer:
        with self.world.lock:
            fault: Fault | None = None
            facts: dict[str, Any] = {}
            try:
                self.world.rates.admit(call)
                fault = self.world.faults.next(call.action)
                answer = self._answer(call, fault, facts)
            except AwsError as error:
                answer = error_answer(error)
            if call.changes:
                self._note(call, answer, fault, facts)
            late_s = random.uniform(*self.world.behaviour.answer_delay_s) if call.changes else 0.0
        time.sleep(late_s)
        if fault and fault.when == "lost":
            raise Lost
        return error_answer(refusal(fault)) if fault and fault.when == "after" else answer

    def _answer(self, call: Call, fault: Fault | None, facts: dict[str, Any]) -> Answer:
        if fault and fault.when == "before":
            raise refusal(fault)
        if call.action == "RunInstances" and not call.dry_run:
            return self._run(call, facts)
        if call.action == "GetConsoleOutput" and not call.dry_run:
            return self._console(call)
        if call.action == "DescribeSpotPriceHistory" and self.world.prices.has(call.region):
            return self.world.prices.history(call)
        if call.action == "DescribeSpotInstanceRequests" and not call.dry_run:
            return spot_requests_answer(call, self.world.fleet.instances.values())
        if call.action in LAGGING:
            with as_listed(self.world.moto, self.world.fleet, self.world.behaviour, call.region):
                return self.world.moto.call(call)
        return self._pass(call, facts)

    def _pass(self, call: Call, facts: dict[str, Any]) -> Answer:
        """Let moto do it, then let the change take its time."""
        answer = self.world.moto.call(call)
        if not call.changes:
            return answer
        new = self.world.fleet.reconcile(call.region)
        touched = call.instance_ids or [tracked.id for tracked in new]
        if touched:
            facts["instances"] = touched
        if answer.ok and call.instance_ids:
            return Answer(answer.status, self.world.fleet.show(answer.body), answer.headers)
        return answer

    def _run(self, call: Call, facts: dict[str, Any]) -> Answer:
        request = read_launch(call, self.world.moto)
        facts.update(market=request.market, instance_type=request.instance_type, zone=request.zone)
        if request.token:
            known = self.world.tokens.find(call.region, request.token, request.zone, request.fingerprint)
            if known:
                facts.update(repeat=True, instances=list(known.instances))
                return self._again(known)
        zone, count = self._grant(request)
        answer = self.world.moto.call(self._granted(request, zone, count))
        launched = self.world.fleet.reconcile(call.region)
        if not answer.ok:
            return answer
        self._settle(request, zone, launched)
        facts.update(zone=zone, instances=[tracked.id for tracked in launched])
        answer = Answer(answer.status, self.world.fleet.show(answer.body), answer.headers)
        if request.token:
            ids = tuple(tracked.id for tracked in launched)
            launch = Launch(request.fingerprint, ids, answer.body)
            self.world.tokens.remember(call.region, request.token, request.zone, launch)
        return answer

    def _again(self, known: Launch) -> Answer:
        all_gone = self.world.fleet.all_terminated(known.instances)
        if all_gone and self.world.behaviour.terminated_token == "refuse":
            raise gone()
        return Answer(200, self.world.fleet.show(known.body))

    def _grant(self, request: LaunchRequest) -> tuple[str, int]:
        """Where, and how many of what was asked for."""
        moto, region, capacity = self.world.moto, request.call.region, self.world.capacity
        offering = moto.zones_offering(region, request.instance_type)
        zones = [request.zone] if request.zone else [z for z in moto.default_subnets(region) if z in offering]
        pool = capacity.roomiest([request.pool(zone) for zone in zones], request.most)
        assert pool.zone is not None
        return pool.zone, capacity.take(pool, request.least, request.most)

    def _granted(self, request: LaunchRequest, zone: str, count: int) -> Call:
        """The call as moto must see it: it launches MinCount, wants a subnet, and has an older default
        for metadata tokens."""
        call = request.call.with_form(MinCount=str(count), MaxCount=str(count))
        if "MetadataOptions.HttpTokens" not in call.form:
            call = call.with_form(MetadataOptions__HttpTokens="required")
        if any(key.endswith("SubnetId") for key in call.form):
            return call
        return call.with_form(SubnetId=self.world.moto.default_subnets(call.region)[zone])

    def _settle(self, request: LaunchRequest, zone: str, launched: list[Tracked]) -> None:
        self.world.capacity.spend(request.pool(zone), len(launched))
        self.world.fleet.assume_role(launched)
        if request.token is None:
            for tracked in launched:
                tracked.moto.client_token = None

    def _console(self, call: Call) -> Answer:
        instance_id = call.form.get("InstanceId", "")
        tracked = self.world.fleet.instances.get(instance_id)
        if tracked is None:
            message = f"The instance ID '{instance_id}' does not exist"
            raise AwsError("InvalidInstanceID.NotFound", message)
        output = base64.b64encode(tracked.console[-65536:].encode()).decode()
        return console_answer(instance_id, output, stamp(time.time()))

    def _note(self, call: Call, answer: Answer, fault: Fault | None, facts: dict[str, Any]) -> None:
        self.world.log.add(
            "call",
            action=call.action,
            region=call.region,
            outcome="ok" if answer.ok else error_code(answer),
            answered=fault.when if fault and fault.when != "before" else "yes",
            token=call.form.get("ClientToken"),
            parameters={key: value for key, value in call.form.items() if key != "UserData"},
            **facts,
        )
