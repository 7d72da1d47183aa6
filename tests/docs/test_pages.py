"""Links resolve, Python compiles and runs, and every command that a page shows exists."""

import re
import shlex
import textwrap

import pytest

from pytest_evalharness.cli import build_parser
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.settings import SETTINGS, Kind

OPTIONS = {setting.option: setting for setting in SETTINGS}
ELSEWHERE = {"EVALHARNESS_TOKEN"}
"""Not a setting: a secret."""


def blocks(pages, *languages):
    return [block for page in pages.values() for block in page.blocks() if block.language in languages]


def commands(pages):
    """Every command line of a shell block or of a workflow's `run:`, with continuations joined."""
    found = []
    for block in blocks(pages, "sh", "console"):
        lines = block.text.replace("\\\n", " ").splitlines()
        if block.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found += [(block.page, shlex.split(line, comments=True)) for line in lines]
    for block in blocks(pages, "yaml"):
        found += [(block.page, shlex.split(m)) for m in re.findall(r"run: (?:exec )?(pytest .*)", block.text)]
    return [(page, words) for page, words in found if words]


# ------------------------------------------------------------------- links


def slug(heading):
    """GitHub's anchor of a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def test_every_relative_link_resolves(pages):
    broken = []
    for page in pages.values():
        for target in re.findall(r"\]\(([^)\s]+)\)", page.prose):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.path.parent / path).resolve() if path else page.path
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE) if file.is_file() else None
            if headings is None or (anchor and anchor not in map(slug, headings)):
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_every_page_can_be_reached_from_the_readme(pages):
    readme = pages["README.md"]
    for name in pages:
        assert name == "README.md" or f"]({name})" in readme.text


# ------------------------------------------------------------------ Python


def test_every_python_block_compiles(pages):
    for block in blocks(pages, "python"):
        compile(textwrap.dedent(block.text), block.page, "exec")


def test_runnable_blocks_run(pages):
    runnable = [block for block in blocks(pages, "python") if "runnable" in block.words]
    assert runnable
    for block in runnable:
        exec(compile(block.text, block.page, "exec"), {})


# ---------------------------------------------------------------- commands


def test_every_option_of_a_pytest_command_exists_and_can_be_read(pages):
    seen = 0
    for page, words in commands(pages):
        if words[0] != "pytest":
            continue
        seen += 1
        for position, word in enumerate(words):
            name, equals, value = word.partition("=")
            if not name.startswith(("--eval-", "--candidate", "--baseline")):
                continue
            setting = OPTIONS.get(name)
            assert setting is not None, f"{page}: {name}"
            if setting.kind is Kind.SWITCH:
                assert not equals, f"{page}: {word}"
                continue
            value = value if equals else words[position + 1]
            if not value.startswith("$"):
                setting.parse(value)
    assert seen > 10


def test_every_evalharness_command_can_be_parsed(pages):
    seen = 0
    for _, words in commands(pages):
        if words[0] == "evalharness":
            build_parser().parse_args(words[1:])
            seen += 1
    assert seen > 1


def test_every_make_target_exists(pages, root):
    targets = set(re.findall(r"^(\w+):", (root / "Makefile").read_text(), re.MULTILINE))
    named = {words[1] for _, words in commands(pages) if words[0] == "make"}
    assert named
    assert named <= targets


def test_every_spelling_of_a_setting_exists(pages):
    known = {*OPTIONS, *ELSEWHERE}
    known |= {setting.variable for setting in SETTINGS} | {setting.ini for setting in SETTINGS}
    known |= {"evalharness_run", "EVALHARNESS_EVIDENCE_KEY"}  # a fixture, and a secret
    for page in pages.values():
        words = set(
            re.findall(r"--eval-[a-z-]*[a-z]|EVALHARNESS_[A-Z_]*[A-Z]|evalharness_[a-z_]*[a-z]", page.text)
        )
        assert words <= known, page.name


def test_every_code_that_a_page_names_exists(pages):
    pending, codes = [EvalHarnessError], set()
    while pending:
        kind = pending.pop()
        codes.add(kind.code)
        pending += kind.__subclasses__()
    for page in pages.values():
        assert set(re.findall(r"EVH\d{3}", page.text)) <= codes, page.name


@pytest.mark.parametrize("hint", ["/work/", "/home/", "/root/", "site-packages"])
def test_no_page_knows_the_machine_it_was_written_on(pages, hint):
    for page in pages.values():
        assert hint not in page.text, page.name
