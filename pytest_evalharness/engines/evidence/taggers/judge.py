"""The judge: a language model reads each call, its moves from the whole of it and its states from the customer's side alone."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

import msgspec

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.closing import Closing
from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.engines.evidence.sampling import ScrubbedCall
from pytest_evalharness.engines.evidence.taggers import transcripts
from pytest_evalharness.engines.evidence.taggers.apis import SPEECHES
from pytest_evalharness.engines.evidence.taggers.asking import Asker, Budget, in_order
from pytest_evalharness.engines.evidence.taggers.cache import AnswerCache
from pytest_evalharness.engines.evidence.taggers.models import JudgeEntry, key_of
from pytest_evalharness.engines.evidence.taggers.questions import Question, questions
from pytest_evalharness.engines.evidence.taggers.reading import Reading
from pytest_evalharness.engines.evidence.taggers.rule import RuleReader
from pytest_evalharness.engines.evidence.world import World

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_BYTES_A_TOKEN = 2
"""Fewer than any text has, so that what is set aside for a question is more than it will cost."""
_ROOM = 200

_Said = list[dict[str, Any] | None]
"""What was said of each agent turn of one call."""


class JudgeTagger(Closing):
    """See the module.

    Args:
        entry: where the judge is.
        world: moves, objections and stages.
        cache: the file of answers.
        environ: where its key is.
        clock: tells the time and waits between tries.
        rng: draws the jitter.
        budget: tokens, in place of the entry's.

    Raises:
        NoCredentials: there is no key where one is needed.
        TaggerFailed: the address cannot be used.
    """

    kind = "judge"

    def __init__(
        self,
        entry: JudgeEntry,
        world: World,
        *,
        cache: Path,
        environ: Mapping[str, str],
        clock: Clock,
        rng: random.Random | None = None,
        budget: int | None = None,
    ) -> None:
        self.model_id: str | None = None
        self.stats: Counter[str] = Counter(
            turns=0, by_model=0, by_rule_fallback=0, moves_by_rule=0, states_by_rule=0, calls=0
        )
        self.effort: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._entry, self._speech = entry, SPEECHES[entry.api]()
        self._rule = RuleReader(world)
        self._moves, self._states = questions(world)
        self.budget = Budget(budget or entry.budget_tokens)
        key = key_of(
            entry.key_env or _KEYS[entry.api],
            environ,
            "the judge",
            required=entry.key_env is not None or entry.api == "anthropic",
        )
        self._asker = Asker(
            entry.endpoint.rstrip("/").removesuffix("/v1"),
            headers=self._speech.headers(key),
            clock=clock,
            rng=rng or random.Random(),
            seconds=entry.seconds,
            stats=self.effort,
            who="the judge",
        )
        scope = {
            "api": entry.api,
            "model": entry.model,
            "body": entry.body,
            "instructions": self._instructions(),
        }
        self._cache = AnswerCache(cache, canonical_json(scope))

    def _instructions(self) -> list[Any]:
        return [[one.system, one.schema()] for one in (self._moves, self._states)]

    def read(self, calls: Iterable[ScrubbedCall]) -> Iterator[tuple[ScrubbedCall, list[Reading]]]:
        """Each call with a reading of each of its agent turns; what the judge leaves out is read by cues and counted."""
        lumps = _lumps(calls, self._entry.batch)
        for lump in in_order(
            self._lump, lumps, parallel=self._entry.parallel, on_failure=self._asker.stop.set
        ):
            for call, moves, states in lump:
                yield call, self._combined(call, moves, states)

    def _lump(self, calls: Sequence[ScrubbedCall]) -> list[tuple[ScrubbedCall, _Said, _Said]]:
        turns = [sum(one.agent for one in call.turns) for call in calls]
        moves = self._ask(self._moves, [transcripts.whole(call.turns) for call in calls], turns)
        states = self._ask(self._states, [transcripts.customer_only(call.turns) for call in calls], turns)
        return list(zip(calls, moves, states, strict=True))

    def _combined(self, call: ScrubbedCall, moves: _Said, states: _Said) -> list[Reading]:
        found, _ = self._rule.read(call)
        for at, (move, state) in enumerate(zip(moves, states, strict=True)):
            by_rule = found[at]
            found[at] = Reading(
                move["move"] if move else by_rule.move,
                state["stage"] if state else by_rule.stage,
                state["warmth"] if state else by_rule.trust,
                state["objection"] if state else by_rule.objection,
            )
            self.stats["by_model" if move and state else "by_rule_fallback"] += 1
            self.stats["moves_by_rule"] += not move
            self.stats["states_by_rule"] += not state
        self.stats["turns"] += len(found)
        self.stats["calls"] += 1
        return found

    def _ask(self, question: Question, told: Sequence[list[str]], turns: Sequence[int]) -> list[_Said]:
        """What is said of some calls: known from before, or asked now, all in one question."""
        known: list[_Said | None] = [self._cache.get([question.name, lines]) for lines in told]
        missing = [at for at, said in enumerate(known) if said is None]
        with self._lock:
            self.effort["known_before"] += len(told) - len(missing)
        asked = self._ask_anew(question, [told[at] for at in missing], [turns[at] for at in missing])
        for at, said in zip(missing, asked, strict=True):
            known[at] = said
            if any(said):  # what brought nothing may bring something when it is asked again
                self._cache.put([question.name, told[at]], said)
        return [said for said in known if said is not None]

    def _ask_anew(self, question: Question, told: Sequence[list[str]], turns: Sequence[int]) -> list[_Said]:
        if not told:
            return []
        most = self._entry.answer_tokens * sum(turns) + _ROOM
        body = self._speech.body(self._entry, question.system, question.text(told), question.schema(), most)
        with _Fare(self.budget, len(msgspec.json.encode(body)) // _BYTES_A_TOKEN + most) as fare:

            def understand(answer: Any) -> list[_Said]:
                found = self._speech.answer(answer)
                fare.told(found.tokens)
                return question.understood(found.value, turns)

            said = self._asker.ask(self._speech.path, body, understand, before=fare.set_aside)
        self.effort["tokens"] = self.budget.spent
        if said is not None:
            return said
        if len(told) == 1:
            return [[None] * turns[0]]
        half = len(told) // 2  # one call among them may be too long, or of a kind that no answer survives
        return self._ask_anew(question, told[:half], turns[:half]) + self._ask_anew(
            question, told[half:], turns[half:]
        )

    def described(self) -> dict[str, Any]:
        """Which judge, and what it was told, as a hash."""
        import hashlib

        told = hashlib.sha256(canonical_json(self._instructions()).encode()).hexdigest()
        return {
            "api": self._entry.api,
            "model": self._entry.model,
            "instructions_hash": f"sha256:{told}",
            "states_from": "the customer's turns alone",
        }

    def close(self) -> None:
        """End every wait, close connections and the file of answers."""
        self._asker.close()
        self._cache.close()


class _Fare:
    """What the tries of one question cost. Each is set aside before it is made, and settled when its answer is there."""

    def __init__(self, budget: Budget, most: int) -> None:
        self._budget, self._most, self._aside = budget, most, False

    def set_aside(self) -> None:
        """Before a try.

        Raises:
            OverBudget: it may cost more than is left.
        """
        self._settle(0)  # the try before brought no answer
        self._budget.reserve(self._most)
        self._aside = True

    def told(self, tokens: int) -> None:
        """An answer has come; one that does not say what it cost is taken to have cost what was set aside."""
        self._settle(tokens or self._most)

    def _settle(self, tokens: int) -> None:
        if self._aside:
            self._aside = False
            self._budget.settle(self._most, tokens)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._settle(0)


def _lumps(calls: Iterable[ScrubbedCall], size: int) -> Iterator[list[ScrubbedCall]]:
    rest = iter(calls)
    while lump := list(islice(rest, size)):
        yield lump
