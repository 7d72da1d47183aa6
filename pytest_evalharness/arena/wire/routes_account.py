"""Routes about the account, its policies and images, and what surrounds a game."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire import render_league as render
from pytest_evalharness.arena.wire import shapes
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.listing import Asked
from pytest_evalharness.arena.wire.parameters import BareId, CoworldIdPath, ImageId
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.arena.wire.render_requests import episode_credits
from pytest_evalharness.base.clock import iso

_DAY = 86_400.0
_PURSE = 100_000.0


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _account(api, house)
    _policies(api, house)
    _coworlds(api, house)


def _account(api: APIRouter, house: House) -> None:
    me = house.world.me

    @api.get("/whoami", response_model=shapes.WhoAmI)
    async def whoami() -> Response:
        return JSONResponse(
            {
                "user_email": me.email,
                "name": me.name,
                "is_softmax_team_member": False,
                "is_softmax_admin": False,
                "subject_type": "user",
                "subject_id": me.id,
                "owner_user_id": me.id,
                "scopes": [],
            }
        )


def add_credits(api: APIRouter, house: House) -> None:
    """Add the route of the account's credits."""

    @api.get("/usage/me/credits")
    async def credit() -> Response:
        costs = []
        for request in house.desk.requests():
            done = [each for each in request.episodes if each.state is State.COMPLETED]
            costs.append(
                {
                    "experience_request_id": request.id,
                    "coworld": request.coworld.name,
                    "episodes": len(done),
                    "compute_cost_credits": round(
                        sum(episode_credits(request, each.ticks or 0) for each in done), 4
                    ),
                    "last_activity_at": iso(request.completed_at or request.created_at),
                }
            )
        spent = round(sum(float(str(each["compute_cost_credits"])) for each in costs), 4)
        now = house.clock.now()
        status = {
            "balance_credits": max(0.0, _PURSE - spent),
            "max_balance_credits": _PURSE,
            "refill_credits": _PURSE,
            "refill_cadence": "daily",
            "next_refill_at": iso(now - now % _DAY + _DAY),
            "credits_per_usd": 100.0,
            "spent_this_period_credits": spent,
            "enforced": False,
        }
        return JSONResponse({"status": status, "recent_requests": costs[:50]})


def _policies(api: APIRouter, house: House) -> None:
    world, listing = house.world, house.dialect.versions
    rows: Any = listing.asked(50, 1000)

    def told() -> bool:
        """Whether anybody is told of images."""
        return house.faults.value("untold-images") is None

    @api.get("/stats/policy-versions", response_model=listing.shape(shapes.PolicyVersionRow))
    async def policy_versions(
        *,
        mine: bool = False,
        name_exact: Annotated[str | None, Query(max_length=200)] = None,
        version: Annotated[int | None, Query(ge=1, le=2**31)] = None,
        asked: Asked = rows,
    ) -> Response:
        found = [
            each
            for each in sorted(house.now.versions, key=lambda each: (-each.created_at, each.id))
            if (not mine or world.owned(each))
            and each.id not in house.now.withdrawn
            and name_exact in {None, each.policy_name}
            and version in {None, each.number}
        ]
        return listing.answer(found, lambda each: each.id, asked, render.policy_version)

    @api.get("/stats/policy-versions/{version_id}", response_model=shapes.PolicyVersionDetail)
    async def policy_version(version_id: BareId) -> Response:
        found = house.now.version_by_id.get(version_id)
        if found is None:
            raise not_found("Policy version")
        owned = world.owned(found)
        return JSONResponse(render.policy_version_detail(found, owned=owned, image=owned and told()))

    @api.get("/v2/container_images/{image_id}", response_model=shapes.ImageShape)
    async def image(image_id: ImageId) -> Response:
        found = world.version_by_image.get(image_id)
        if found is None or not world.owned(found) or not told():
            raise not_found("Container image")
        return JSONResponse(render.image(found))

    @api.get("/v2/policies/{policy_id}/selection-access")
    async def selection_access(policy_id: BareId) -> Response:
        if not any(each.policy_id == policy_id and world.owned(each) for each in world.versions):
            raise not_found("Policy")
        return JSONResponse({"selection_scope": "any_request"})


def _coworlds(api: APIRouter, house: House) -> None:
    @api.get("/v2/coworlds/{name}/feed-posts/check")
    async def feed_check(name: str) -> Response:
        del name
        return JSONResponse({"human_name": None, "rounds": [], "sensei_due": None})

    @api.get("/v2/coworlds/{coworld_id}")
    async def coworld(coworld_id: CoworldIdPath) -> Response:
        found = next((each for each in house.now.coworlds if each.id == coworld_id), None)
        if found is None:
            raise not_found("Coworld")
        return JSONResponse(
            {
                "id": found.id,
                "name": found.name,
                "version": found.version,
                "canonical": True,
                "manifest": render.manifest(found),
                "created_at": iso(found.created_at),
            }
        )
