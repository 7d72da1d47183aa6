"""What the adapter's constructor takes, and which of it contradicts itself."""

from __future__ import annotations

from typing import Any

IMAGE = "clbench-ouroboros:dev"
DEFAULTS: dict[str, Any] = {
    "model": "miniature/engine-1",
    "engine": "ouroboros",
    "mode": "stateful",
    "ouroboros_repo": None,
    "evolution": False,
    "persistent_objective": "",
    "task_timeout_sec": 900,
    "docker": False,
    "docker_image": IMAGE,
    "max_workers": 10,
    "cadence": 1,
    "evolution_trigger": "none",
    "resume": False,
    "loop": "action",
    "conversation": "question",
    "memory_instruction": "tools",
    "system_prompt": "",
    "discipline": "",
    "final_answer_delivery": False,
    "chunk_questions": 0,
    "chunk_resume_mode": "",
    "name": "ouroboros",
}
_CHOICES = {
    "engine": ("llm", "ouroboros"),
    "mode": ("stateless", "stateful"),
    "loop": ("action", "live"),
    "conversation": ("question", "rollout"),
    "memory_instruction": ("tools", "generic", ""),
}


def require_sound(params: dict[str, Any]) -> None:
    """Refuse parameters that contradict each other.

    Raises:
        ValueError: the text says which.
    """
    for name, known in _CHOICES.items():
        if params.get(name, DEFAULTS[name]) not in known:
            raise ValueError(f"{name} must be one of {known}, not {params[name]!r}")
    for name, wanted in (("loop", "live"), ("resume", True)):
        if params.get(name) == wanted and not params.get("docker"):
            raise ValueError(f"{name}={wanted!r} needs docker=true")
    if params.get("final_answer_delivery") and params.get("conversation") != "question":
        raise ValueError("final_answer_delivery needs conversation='question'")
