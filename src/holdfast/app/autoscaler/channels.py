"""Where messages for operators go, as the settings say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.autoscaler.notifications.deliver import Channel
from holdfast.autoscaler.notifications.message import Message
from holdfast.autoscaler.settings import Settings

if TYPE_CHECKING:
    from types_boto3_sns import SNSClient

    from holdfast.adapters.webhook import Webhook

WEBHOOK, SLACK, SNS = "webhook", "slack", "sns"


def channels_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, Channel]:
    """By name.  Nothing is asked of the world; raises Invalid for a secret that makes no sense."""
    found: dict[str, Channel] = {}
    if settings.notify_webhook_url or settings.notify_slack_url:
        from holdfast.adapters.webhook import Webhook

        if settings.notify_webhook_url:
            webhook = Webhook(settings.notify_webhook_url, secret=settings.notify_webhook_secret)
            found[WEBHOOK] = JsonChannel(webhook)
        if settings.notify_slack_url:
            found[SLACK] = SlackChannel(Webhook(settings.notify_slack_url))
    if settings.notify_sns_topic_arn:
        from holdfast.app.autoscaler.clients import sns_client

        found[SNS] = SnsChannel(sns_client(settings, environ), settings.notify_sns_topic_arn)
    return found


@dataclass(frozen=True)
class JsonChannel:
    webhook: "Webhook"

    def send(self, message: Message) -> None:
        """The whole message as JSON.  Twice is two requests with one `webhook-id`."""
        self.webhook.post(message.as_json(), message.id)


@dataclass(frozen=True)
class SlackChannel:
    webhook: "Webhook"

    def send(self, message: Message) -> None:
        """One line of text, in the form that Slack's incoming webhooks take.  Twice is two lines."""
        self.webhook.post({"text": _unmarked(message.text)}, message.id)


@dataclass(frozen=True)
class SnsChannel:
    client: "SNSClient"
    topic_arn: str

    def send(self, message: Message) -> None:
        """Subject and text.  Twice is two messages with one attribute `id`."""
        from holdfast.adapters.aws import sns

        sns.publish(
            self.client,
            self.topic_arn,
            subject=message.subject,
            text=message.text,
            message_id=message.id,
            group=message.cluster.replace(" ", "-"),
        )


def _unmarked(text: str) -> str:
    """Names from outside must not become links or mentions in Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
