"""What the documents point at is there: files, headings, and the targets of make."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

import pytest

from tests.tidy.repository import ROOT, Source, assert_none, names, sources

FENCED = re.compile(r"^(?P<fence> {0,3}(`{3,}|~{3,})).*?^(?P=fence)[^\n]*$", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)
MAKE = re.compile(r"(?:^|[;&|($]\s*|\s)make((?:[ \t]+[^\s;&|)`]+)*)", re.MULTILINE)
TARGET = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)", re.MULTILINE)


def documents() -> list[Source]:
    return [source for source in sources() if source.suffix == ".md"]


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text without what matches, every line still in its place."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def slugs(text: str) -> set[str]:
    """The anchors that a page's headings give, as code hosts make them."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(blanked(FENCED, text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # of a link only its words count
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


@cache
def folders() -> frozenset[str]:
    return frozenset(str(folder) for name in names() for folder in PurePosixPath(name).parents)


def broken_links(page: Source, files: Collection[str], pages: dict[str, str]) -> Iterator[str]:
    """Links to what is not in the repository.  What git ignores is not there in another clone."""
    prose = blanked(INLINE_CODE, blanked(FENCED, page.text))
    for match in LINK.finditer(prose):
        target = match[1] or match[2]
        if ELSEWHERE.match(target):
            continue
        path, _, anchor = unquote(target).partition("#")
        place = normpath(PurePosixPath(page.name).parent / path) if path else page.name
        line = prose.count("\n", 0, match.start()) + 1
        if place not in files:
            yield f"{page.name}:{line}: {target}: there is no {place}"
        elif anchor and place in pages and anchor not in slugs(pages[place]):
            yield f"{page.name}:{line}: {target}: {place} has no heading #{anchor}"


def code_in(text: str) -> str:
    """All code of a page, fenced and inline, in lines of its own."""
    fenced = [match[0] for match in FENCED.finditer(text)]
    return "\n".join([*fenced, *(match[2] for match in INLINE_CODE.finditer(blanked(FENCED, text)))])


def asked_of_make(text: str) -> set[str]:
    """The targets that a page tells its reader to make here; `make -C elsewhere` is another's."""
    found = set()
    for match in MAKE.finditer(code_in(text)):
        words = match[1].partition("#")[0].split()
        if "-C" not in words:
            found |= {word for word in words if re.fullmatch(r"[A-Za-z][\w-]*", word)}
    return found


def test_links_lead_somewhere() -> None:
    pages = {page.name: page.text for page in documents()}
    assert pages
    there = names() | folders()
    assert_none(fault for page in documents() for fault in broken_links(page, there, pages))


def test_what_a_page_tells_to_make_can_be_made() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    assert {"check", "test"} <= targets
    assert_none(
        f"{page.name}: `make {target}`: the Makefile has no such target"
        for page in documents()
        for target in sorted(asked_of_make(page.text) - targets)
    )


PAGE = """# Title
See [a](b.md), [it](b.md#the-second-part), [again](#title), [web](https://example.org/x.md), [dir](../src).
```
[not](a-link.md)
# not a heading
```
And `[not](one.md)` either.
"""


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        ("", []),
        ("[gone](c.md)", ["docs/a.md:8: c.md: there is no docs/c.md"]),
        ("![shot](<shots/one.png>)", ["docs/a.md:8: shots/one.png: there is no docs/shots/one.png"]),
        ("[x]: ../build/out.txt", ["docs/a.md:8: ../build/out.txt: there is no build/out.txt"]),
        ("[x](b.md#third)", ["docs/a.md:8: b.md#third: docs/b.md has no heading #third"]),
        ("[x](#not-a-heading)", ["docs/a.md:8: #not-a-heading: docs/a.md has no heading #not-a-heading"]),
    ],
)
def test_a_link_to_nothing_is_told_with_its_line(added: str, fault: list[str]) -> None:
    page = Source("docs/a.md", PAGE + added)
    pages = {"docs/a.md": page.text, "docs/b.md": "## The `second` part!"}
    assert list(broken_links(page, {"docs/a.md", "docs/b.md", "src"}, pages)) == fault


def test_headings_of_the_same_words_are_told_apart() -> None:
    assert slugs("# One\n## [Two](x.md) & `three_4`\n# One\n") == {"one", "two--three_4", "one-1"}


SHELL = """
```sh
cd holdfast && make parts ONLY=kwok check  # then make tea
make PYTHON=python3.12 up
```
"""


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Run `make up` or `make real ARGS=-x`.", {"up", "real"}),
        (SHELL, {"parts", "check", "up"}),
        ("We make bread. `make` alone, `make -C other install`, `make -j2 test`", {"test"}),
    ],
)
def test_only_code_tells_what_to_make(text: str, targets: set[str]) -> None:
    assert asked_of_make(text) == targets
