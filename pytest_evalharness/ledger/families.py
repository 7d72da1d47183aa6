"""Which claims are tested together: written down before anything is posted for them, and never changed afterwards.

Whoever sees results and then leaves cases out could always find a family in which they stand. So a comparison keeps the
family it was posted in, through whichever selection its evidence is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole

if TYPE_CHECKING:
    import sqlite3

    from pytest_evalharness.base.database import Run


class Method(StrEnum):
    """How p-values are adjusted for the family."""

    HOLM = "holm"
    NONE = "none"


class Standing(StrEnum):
    """What a claim is to its family.

    `MEMBER`: it is adjusted for the others, and they for it. `GUARD`: a claim about a margin; each must hold by itself.
    `REPORT_ONLY`: its rule never decides. The last two are outside of the family.
    """

    MEMBER = "member"
    GUARD = "guard"
    REPORT_ONLY = "report_only"


@dataclass(frozen=True)
class Member:
    """One claim of a session.

    Attributes:
        cases: the cases that make it; those that ask exactly the same make one claim.
        claim: what it claims; None where that could not be read.
        rule: what decides it; likewise.
        alpha: its error level; likewise.
        standing: whether it is in the family.
        selected: whether any of its cases was to run; what was deselected is not posted and counts as p = 1.
        comparison: under which id its evidence is kept; None where there is none to be had.
    """

    cases: tuple[str, ...]
    claim: str | None
    rule: str | None
    alpha: float | None
    standing: Standing = Standing.MEMBER
    selected: bool = True
    comparison: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Member:
        """The member that was written down."""
        changed = {"cases": tuple(data["cases"]), "standing": Standing(data["standing"])}
        return cls(**{**data, **changed})


@dataclass(frozen=True)
class Family:
    """Claims that are tested together.

    Attributes:
        id: its name.
        run_id: the run that fixed it.
        method: how p-values are adjusted in it.
        members: every claim of that run's collection, those outside of the family included.
        fixed_at: seconds since 1970.
    """

    id: str
    run_id: str
    method: Method
    members: tuple[Member, ...]
    fixed_at: float

    @property
    def tested(self) -> tuple[Member, ...]:
        """The claims that are adjusted for one another."""
        return tuple(member for member in self.members if member.standing is Standing.MEMBER)

    @property
    def cases(self) -> frozenset[str]:
        """All cases."""
        return frozenset(case for member in self.members for case in member.cases)

    def member(self, comparison_id: str, case: str) -> Member | None:
        """The claim whose evidence is kept under an id; failing that, the one that a case makes."""
        kept = (member for member in self.members if member.comparison == comparison_id)
        made = (member for member in self.members if case in member.cases)
        return next(kept, None) or next(made, None)


class Families:
    """The families of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def fix(self, run_id: str, members: Iterable[Member], method: Method) -> Family:
        """Fix the family of a run. The first of its processes decides; the others get what it wrote.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        family_id = f"family-{run_id}"
        told = {
            "members": [asdict(member) for member in members],
            "method": method.value,
            "run_id": run_id,
        }
        with self._access.storage.transaction() as run:
            sql = "INSERT INTO families VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            run(sql, family_id, dump(told), self._access.clock.now())
            return _family(run("SELECT * FROM families WHERE family_id = ?", family_id)[0])

    def join(self, family_id: str, comparison_ids: Iterable[str]) -> None:
        """Put comparisons into a family. One that is in a family already stays there, once anything of that was posted.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            for comparison_id in comparison_ids:
                run(_JOIN, family_id, comparison_id)

    def of_comparison(self, comparison_id: str) -> Family | None:
        """The family that a comparison is in; None if it is in none."""
        sql = "SELECT families.* FROM families JOIN comparisons USING (family_id) WHERE comparison_id = ?"
        rows = self._access.storage.read(sql, comparison_id)
        return _family(rows[0]) if rows else None

    def latest_with(self, cases: Iterable[str], *, besides: str) -> Family | None:
        """The latest family that has all of these cases.

        Args:
            cases: names of cases.
            besides: a run whose own family is not meant.
        """
        wanted = frozenset(cases)
        for row in self._access.storage.read("SELECT * FROM families ORDER BY fixed_at DESC, rowid DESC"):
            family = _family(row)
            if family.run_id != besides and wanted <= family.cases:
                return family
        return None


_JOIN = """
UPDATE comparisons SET family_id = ? WHERE comparison_id = ? AND NOT EXISTS (
    SELECT 1 FROM comparisons AS fellow JOIN comparison_arms USING (comparison_id) JOIN blocks USING (arm_key)
    WHERE fellow.family_id = comparisons.family_id
    AND NOT (state = 'planned' AND lease IS NULL) AND NOT (state = 'failed' AND request_id IS NULL)
)
"""
"""A family of which nothing exists at the server, planned or refused, has shown nobody anything: it may be left."""


def inherit(run: Run, comparison_id: str, superseded: str) -> None:
    """Let an attempt that takes an unposted one's place take its place in the family too."""
    sql = (
        "UPDATE comparisons SET family_id = (SELECT family_id FROM comparisons WHERE comparison_id = ?) "
        "WHERE comparison_id = ?"
    )
    run(sql, superseded, comparison_id)


def _family(row: sqlite3.Row) -> Family:
    told = whole(row["members_json"])
    members = tuple(Member.from_json(member) for member in told["members"])
    return Family(row["family_id"], told["run_id"], Method(told["method"]), members, row["fixed_at"])
