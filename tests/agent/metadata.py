"""The scripted metadata service, inside the test."""

from tools.parts.imds.book import Book
from tools.parts.imds.metadata import Metadata
from tools.parts.imds.server import ImdsServer


class Script:
    """One instance, and a clock for its sessions."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.book = Book(lambda: self.now_s)
        self.instance = Metadata("i-1", zone="eu-central-1b", local_ipv4="10.0.0.7")
        self.book.put(self.instance)
        self.server = ImdsServer(self.book, only="i-1")
        self.server.serve_in_background()
