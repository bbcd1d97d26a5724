"""Parts that are no systems: the rules of installing can be seen on them in no time."""

import time

from tools.parts.part import CannotInstall, Part, Say, cache_root


class Sham(Part):
    """Its build writes down each beginning, and takes as long as the file `go` is missing."""

    name = "sham"
    version = "1"
    licence = "none"
    purpose = "to be installed"

    def build(self, say: Say) -> None:
        found = sorted(path.name for path in self.home.iterdir())
        with (cache_root() / "beginnings").open("a") as beginnings:
            beginnings.write(f"{found}\n")
        (self.home / "half").touch()
        say("half done")
        while not (cache_root() / "go").exists():
            time.sleep(0.02)
        (self.home / "whole").touch()


class Impossible(Part):
    name = "impossible"
    version = "9"
    licence = "none"
    purpose = "not to be installed"

    def build(self, say: Say) -> None:
        raise CannotInstall("it needs a sextant and there is none: buy a sextant")


if __name__ == "__main__":
    Sham().install(print)
