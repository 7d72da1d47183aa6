"""A process with a ledger of its own, told what to do by lines of JSON; run by the tests, killed by them too.

Each line is `[name, arguments…]`; each answer one line of JSON. A line `["at", seconds, […]]` does its command at a
moment of the wall clock, so that many processes can be made to collide.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import ArmStalled, JournalUnavailable, RequestRefused
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


class Actor:
    def __init__(self, home: str, session: str) -> None:
        self.clock = SystemClock()
        self.ledger = Ledger.open(Path(home), clock=self.clock, owner=Owner.current(session))
        self.lease = None

    def setup(self, arm):
        comparison = self.ledger.open_comparison({"ask": arm}, run_id="r", case_name="c")
        self.ledger.freeze(comparison.id, {}, {"candidate": ArmSpec(arm, {}, [{}])})
        return [block.block_id for block in self.ledger.blocks(arm)]

    def acquire(self, block_id):
        self.lease = self.ledger.acquire(block_id)
        return None if self.lease is None else self.lease.state

    def bring(self, state):
        """Bring the leased block from where it is to a state, and keep it there."""
        if state != "planned":
            self.lease.begin_post()
        if state == "refused":
            self.lease.refused(RequestRefused("402"))
        elif state in {"running", "finished", "abandoned"}:
            self.lease.posted("xreq_1")
        if state == "finished":
            self.lease.finish({"wins": 1})
        elif state == "abandoned":
            self.lease.abandon(ArmStalled("slow"))
        return self.lease.state

    def fresh(self, run_id):
        return self.ledger.open_comparison({"ask": 1}, run_id=run_id, case_name="c", fresh=True).attempt

    def once(self, key, seconds=0.0, patience=300.0):
        """Produce something; says whether it was this process that did."""
        mine = []

        def produce():
            say("producing")
            mine.append(1)
            time.sleep(seconds)
            return {"pid": self.ledger.owner.pid}

        deadline = Deadline.after(self.clock, patience)
        value = self.ledger.once("roster", key, produce, deadline=deadline, poll=0.01)
        return [bool(mine), value["pid"]]

    def churn(self):
        """Write for ever, until killed."""
        number = 0
        say("churning")
        while True:
            number += 1
            plan = {"ask": number, "by": self.ledger.owner.pid}
            comparison = self.ledger.open_comparison(plan, run_id="r", case_name="c")
            key = f"arm-{self.ledger.owner.pid}-{number}"
            self.ledger.freeze(comparison.id, {}, {"candidate": ArmSpec(key, {}, [{}, {}])})

    def at(self, moment, command):
        time.sleep(max(0.0, moment - time.time() - 0.02))
        while time.time() < moment:
            pass
        return self.do(command)

    def do(self, command):
        return getattr(self, command[0])(*command[1:])


def main() -> None:
    try:
        actor = Actor(sys.argv[1], sys.argv[2])
    except JournalUnavailable as error:
        say({"refused": error.what, "code": error.code})
        return
    say("ready")
    for line in sys.stdin:
        say(actor.do(json.loads(line)))


if __name__ == "__main__":
    main()
