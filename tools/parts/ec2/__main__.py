"""`python -m tools.parts.ec2 --port P --imds-port I --log FILE`: the stand-in, until it is stopped."""

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

from tools.parts.ec2.api.app import App
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ec2.control import Control
from tools.parts.ec2.machines.world import make_world
from tools.parts.imds.server import ImdsServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.parts.ec2", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--imds-port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True, help="JSON lines of all that was done")
    parser.add_argument("--behaviour", default="{}", help="JSON, see behaviour.py")
    parser.add_argument("--no-rates", action="store_true", help="admit any number of calls a second")
    parser.add_argument("--seed", type=int, default=0, help="draws boot and shutdown delays")
    asked = parser.parse_args()
    behaviour = Behaviour()
    behaviour.change(json.loads(asked.behaviour))
    world = make_world(asked.log, behaviour, asked.seed)
    world.rates.enabled = not asked.no_rates
    metadata = ImdsServer(world.book, asked.imds_port)
    metadata.serve_in_background()
    serve(App(world, Control(world, metadata.url, f"http://127.0.0.1:{asked.port}")), asked.port)


def serve(app: App, port: int) -> None:
    serving: Any = importlib.import_module("werkzeug.serving")

    class Quiet(serving.WSGIRequestHandler):  # type: ignore[misc]
        protocol_version = "HTTP/1.1"

        def log_request(self, *args: object) -> None:
            """The log of what was done is elsewhere."""

    serving.make_server("127.0.0.1", port, app, threaded=True, request_handler=Quiet).serve_forever()


if __name__ == "__main__":
    main()
