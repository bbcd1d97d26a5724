"""Events on their way to an SQS queue, as an EventBridge rule would send them.

A thread of its own does it, without the lock: the queue may well be on this very server.
"""

import importlib
import json
import queue
import threading
from typing import Any

from tools.parts.ec2.log import Log


class Delivery:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue()
        self._target: tuple[Any, str] | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def send_to(self, queue_url: str, endpoint: str, region: str) -> None:
        """From now on every event becomes a message on this queue."""
        client = importlib.import_module("boto3").client(
            "sqs",
            endpoint_url=endpoint,
            region_name=region,
            aws_access_key_id="events",
            aws_secret_access_key="events",
        )
        self._target = (client, queue_url)

    def take(self, event: dict[str, Any]) -> None:
        if self._target:
            self._waiting.put(event)

    def _run(self) -> None:
        while True:
            event = self._waiting.get()
            assert self._target is not None
            client, url = self._target
            try:
                client.send_message(QueueUrl=url, MessageBody=json.dumps(event))
                self._log.add("delivered", event=event["id"], queue=url)
            except Exception as error:
                self._log.add("undelivered", event=event["id"], queue=url, error=str(error))
