"""Launch templates: one version for each digest, referred to by its number."""

import base64
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from holdfast.adapters.aws.ec2.templates import template_name
from holdfast.app.autoscaler.cloud import join_script
from holdfast.cloud.launches import Refused
from holdfast.kernel import Busy, Invalid, Unknown
from tests.real.product.autoscaler_ec2.world import World


def versions(world: World) -> int:
    name = template_name(world.settings.cluster_name, "default")
    pages = world.account.api.get_paginator("describe_launch_template_versions")
    return sum(len(page["LaunchTemplateVersions"]) for page in pages.paginate(LaunchTemplateName=name))


def test_a_pool_has_no_template_until_one_is_prepared(world: World) -> None:
    assert world.cloud.templates([world.pool]) == {}
    world.cloud.prepare(world.pool)
    found = world.cloud.templates([world.pool])["default"]
    assert (found.version, found.digest) == (1, world.cloud.digest(world.pool))
    assert world.open().templates([world.pool])["default"] == found


def test_twice_is_once_for_every_hand(world: World) -> None:
    for _ in range(2):
        world.cloud.prepare(world.pool)
        world.open().prepare(world.pool)
    assert versions(world) == 1


def test_hands_that_prepare_at_once_agree_on_a_version_afterwards(world: World) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda cloud: cloud.prepare(world.pool), [world.open() for _ in range(4)]))
    found = [world.open().templates([world.pool])["default"] for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].digest == world.cloud.digest(world.pool)


def test_changed_settings_make_a_new_version_and_leave_the_old(world: World) -> None:
    world.cloud.prepare(world.pool)
    changed = replace(world.pool, labels={"tier": "batch"})
    assert world.cloud.templates([changed]) == {}, "the version that is there was made from other settings"
    world.cloud.prepare(changed)
    assert world.cloud.templates([changed])["default"].version == 2
    assert world.cloud.templates([world.pool])["default"].version == 1


def test_every_page_of_versions_is_searched(world: World) -> None:
    world.cloud.prepare(world.pool)
    for n in range(6):
        world.cloud.prepare(replace(world.pool, labels={"n": str(n)}))
    assert world.open(page=2).templates([world.pool])["default"].version == 1


def test_a_version_says_what_the_settings_say(world: World) -> None:
    group = world.account.api.describe_security_groups()["SecurityGroups"][0]["GroupId"]
    pool = replace(world.pool, security_group_ids=(group,), disk_gib=40)
    world.cloud.prepare(pool)
    template = world.cloud.templates([pool])["default"]
    described = world.account.api.describe_launch_template_versions(
        LaunchTemplateId=template.template_id, Versions=[str(template.version)]
    )
    data = described["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert base64.b64decode(data["UserData"]).decode() == join_script(world.settings, pool)
    assert data["ImageId"] == pool.ami_id
    assert data["SecurityGroupIds"] == [group]
    assert data["MetadataOptions"]["HttpTokens"] == "required"
    assert data["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    assert data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 40


def test_a_template_that_was_deleted_is_refused_and_then_made_anew(world: World) -> None:
    row = world.row()
    world.account.api.delete_launch_template(LaunchTemplateId=row.template_id)
    world.ec2.fail_next("RunInstances", code="InvalidLaunchTemplateId.NotFound", status=400)
    assert isinstance(world.cloud.launch(world.action, row), Refused)
    assert world.cloud.templates([world.pool]) == {}, "it is looked for again"
    assert world.row().template_id != row.template_id


def test_a_template_of_the_users_own_is_used_as_it_is(world: World) -> None:
    made = world.account.api.create_launch_template(
        LaunchTemplateName=f"{world.settings.cluster_name}-own",
        LaunchTemplateData={"ImageId": world.account.image},
    )["LaunchTemplate"]
    own = replace(world.pool, ami_id="", launch_template_id=made["LaunchTemplateId"])
    numbered = replace(own, launch_template_version=7)
    assert world.cloud.templates([numbered])["default"].version == 7
    assert world.cloud.templates([own])["default"].version == 1, "the default version, by its number"
    world.cloud.prepare(own)
    assert world.cloud.templates([own])["default"].digest == world.cloud.digest(own)
    assert [world.cloud.digest(own)] != [world.cloud.digest(numbered)]


def test_a_template_of_the_users_own_that_is_not_there_is_named(world: World) -> None:
    own = replace(world.pool, launch_template_id="lt-00000000000000000")
    with pytest.raises(Invalid, match="launch_template_id of pool default is lt-00000000000000000"):
        world.cloud.templates([own])


def test_a_lost_answer_is_unknown_and_the_next_try_finds_the_version(world: World) -> None:
    world.ec2.fail_next("CreateLaunchTemplate", when="lost")
    with pytest.raises(Unknown, match="ec2:CreateLaunchTemplate"):
        world.cloud.prepare(world.pool)
    world.cloud.prepare(world.pool)
    assert versions(world) == 1


def test_a_throttled_look_is_busy_and_makes_nothing(world: World) -> None:
    world.ec2.fail_next("DescribeLaunchTemplateVersions", code="RequestLimitExceeded", status=503)
    with pytest.raises(Busy):
        world.cloud.prepare(world.pool)
    assert world.cloud.templates([world.pool]) == {}
