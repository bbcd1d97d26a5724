"""`python -m tools.parts.imds --port P --control-port C`: the scripted service alone."""

import argparse

from tools.parts.imds.book import Book
from tools.parts.imds.control import ControlServer, Script
from tools.parts.imds.server import ImdsServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.parts.imds", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--control-port", type=int, required=True)
    asked = parser.parse_args()
    book = Book()
    ImdsServer(book, asked.port).serve_in_background()
    ControlServer(Script(book), asked.control_port).serve_forever()


if __name__ == "__main__":
    main()
