"""A decision model: one choice question an agent turn, over HTTP or on a local command's standard input."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.closing import Closing
from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.engines.evidence.sampling import ScrubbedCall
from pytest_evalharness.engines.evidence.taggers import transcripts
from pytest_evalharness.engines.evidence.taggers.asking import Asker, Unusable, in_order
from pytest_evalharness.engines.evidence.taggers.cache import AnswerCache
from pytest_evalharness.engines.evidence.taggers.command import Command
from pytest_evalharness.engines.evidence.taggers.models import ModelEntry, key_of
from pytest_evalharness.engines.evidence.taggers.reading import Reading
from pytest_evalharness.engines.evidence.taggers.rule import RuleReader
from pytest_evalharness.engines.evidence.world import World

PATH = "/v1/systemone"
_QUESTION = "move"


class Backend(Protocol):
    """Whoever answers."""

    def ask(self, body: Mapping[str, Any]) -> str | None:
        """The chosen move; None where no answer can be used."""
        ...

    def stop(self) -> None:
        """End the waits of questions under way."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class ModelTagger(Closing):
    """Asks which move each agent turn was, of the transcript up to that turn; the state before it is read by cues.

    Args:
        model_id: of `models.toml`.
        entry: what it says of it.
        world: moves, objections and stages.
        cache: the file of answers.
        environ: where its key is.
        clock: tells the time and waits between tries.
        rng: draws the jitter.

    Raises:
        NoCredentials: there is no key where one is named.
        TaggerFailed: the address cannot be used, or the command cannot be started.
    """

    kind = "model"

    def __init__(
        self,
        model_id: str,
        entry: ModelEntry,
        world: World,
        *,
        cache: Path,
        environ: Mapping[str, str],
        clock: Clock,
        rng: random.Random | None = None,
    ) -> None:
        self.model_id: str | None = model_id
        self.stats: Counter[str] = Counter(turns=0, by_model=0, by_rule_fallback=0, calls=0)
        self.effort: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._rule = RuleReader(world)
        self._moves = frozenset(world.moves)
        self._model = entry.model or model_id
        self._question = {
            _QUESTION: {
                "type": "choice",
                "question": f"Which of the {len(world.moves)} moves was the agent's last turn?",
                "criteria": {name: one.about or one.words or name for name, one in world.moves.items()},
            }
        }
        who = f"the model {model_id}"
        if entry.command:
            self._parallel = 1
            self._backend: Backend = Command(
                entry.command, seconds=entry.seconds, who=who, understand=self._choice, stats=self.effort
            )
        else:
            self._parallel = entry.parallel
            key = key_of(entry.key_env, environ, who, required=entry.key_env is not None)
            asker = Asker(
                (entry.endpoint or "").rstrip("/"),
                headers={"Authorization": f"Bearer {key}"} if key else {},
                clock=clock,
                rng=rng or random.Random(),
                seconds=entry.seconds,
                stats=self.effort,
                who=who,
            )
            self._backend = _Endpoint(asker, self._choice)
        scope = {"systemone": model_id, "model": self._model, "question": self._question}
        self._cache = AnswerCache(cache, canonical_json(scope))

    def read(self, calls: Iterable[ScrubbedCall]) -> Iterator[tuple[ScrubbedCall, list[Reading]]]:
        """Each call with a reading of each of its agent turns; moves that the model leaves out are read by cues and counted."""
        for call, moves in in_order(
            self._call, calls, parallel=self._parallel, on_failure=self._backend.stop
        ):
            found, _ = self._rule.read(call)
            for reading, move in zip(found, moves, strict=True):
                reading.move = move or reading.move
                self.stats["by_model" if move else "by_rule_fallback"] += 1
            self.stats["turns"] += len(found)
            self.stats["calls"] += 1
            yield call, found

    def _call(self, call: ScrubbedCall) -> tuple[ScrubbedCall, list[str | None]]:
        return call, [self._move(lines) for lines in transcripts.prefixes(call.turns)]

    def _move(self, lines: list[str]) -> str | None:
        known = self._cache.get(lines)
        if known is not None:
            with self._lock:
                self.effort["known_before"] += 1
            return str(known)
        move = self._backend.ask({"state": lines, "model": self._model, "questions": self._question})
        if move is not None:
            self._cache.put(lines, move)
        return move

    def _choice(self, told: Any) -> str:
        """The move in an answer, which tells it plainly or as `{"choice": …}`.

        Raises:
            Unusable: there is none, or none of the world's.
        """
        answers = told.get("answers") if isinstance(told, dict) else None
        chosen = answers.get(_QUESTION) if isinstance(answers, dict) else None
        if isinstance(chosen, dict):
            chosen = chosen.get("choice")
        if not isinstance(chosen, str) or chosen not in self._moves:
            raise Unusable("no move was chosen")
        return chosen

    def described(self) -> dict[str, Any]:
        """Which model, and that states are read by cues."""
        return {"model": self._model, "states_from": "cues, of the customer's turns"}

    def close(self) -> None:
        """Close connections, or end the command; and close the file of answers."""
        self._backend.close()
        self._cache.close()


class _Endpoint:
    def __init__(self, asker: Asker, understand: Any) -> None:
        self._asker, self._understand = asker, understand

    def ask(self, body: Mapping[str, Any]) -> str | None:
        found: str | None = self._asker.ask(PATH, body, self._understand)
        return found

    def stop(self) -> None:
        self._asker.stop.set()

    def close(self) -> None:
        self._asker.close()
