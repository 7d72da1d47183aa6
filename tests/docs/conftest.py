"""Pages, and what stands in their fenced blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    words: tuple[str, ...]
    text: str

    @property
    def language(self):
        return self.words[0] if self.words else ""


@dataclass(frozen=True)
class Page:
    path: Path
    text: str

    @property
    def name(self):
        return str(self.path.relative_to(ROOT))

    @property
    def prose(self):
        """The page without its fenced blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self, language=None):
        found = [Block(self.name, tuple(m[1].split()), m[2]) for m in _FENCE.finditer(self.text)]
        return [block for block in found if language in {None, block.language}]

    def table(self, first):
        """The rows, as lists of cells, of the table whose first heading is `first`."""
        lines = iter(self.text.splitlines())
        for line in lines:
            if line.startswith(f"| {first} |"):
                next(lines)
                rows = []
                for row in lines:
                    if not row.startswith("|"):
                        return rows
                    cells = re.split(r"(?<!\\)\|", row.strip()[1:-1])
                    rows.append([cell.strip().replace("\\|", "|") for cell in cells])
                return rows
        raise LookupError(f"{self.name} has no table that begins with {first!r}")


@pytest.fixture(scope="session")
def pages():
    return {str(path.relative_to(ROOT)): Page(path, path.read_text()) for path in PAGES}


@pytest.fixture(scope="session")
def root():
    return ROOT
