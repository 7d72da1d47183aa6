"""Routes that show the league: leagues, divisions, memberships, rounds."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from pytest_evalharness.arena.league.world import Membership, member_count
from pytest_evalharness.arena.wire import render_league as render
from pytest_evalharness.arena.wire import shapes
from pytest_evalharness.arena.wire.house import BASE, House
from pytest_evalharness.arena.wire.listing import Asked
from pytest_evalharness.arena.wire.parameters import (
    BareIdQuery,
    DivisionIdPath,
    DivisionIdQuery,
    LeagueIdPath,
    LeagueIdQuery,
    PlayerIdQuery,
    RoundId,
)
from pytest_evalharness.arena.wire.refusals import not_found


def root(request: Request) -> str:
    """The URL of the API, as this client reached it."""
    return f"{request.url.scheme}://{request.url.netloc}{BASE}"


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _leagues(api, house)
    _divisions(api, house)
    _memberships(api, house)
    _rounds(api, house)


def _leagues(api: APIRouter, house: House) -> None:
    world = house.world

    @api.get("/v2/games", response_model=list[shapes.GameShape])
    async def games() -> Response:
        return JSONResponse([render.game(coworld) for coworld in house.now.coworlds])

    @api.get("/v2/leagues", response_model=list[shapes.LeagueShape])
    async def leagues(request: Request, game_id: str | None = None) -> Response:
        found = [each for each in house.now.leagues if game_id in {None, each.coworld.game_id}]
        return JSONResponse([render.league(each, root(request)) for each in found])

    @api.get("/v2/leagues/{league_id}", response_model=shapes.LeagueShape)
    async def league(request: Request, league_id: LeagueIdPath) -> Response:
        found = house.now.league(league_id)
        if found is None:
            raise not_found("League")
        return JSONResponse(render.league(found, root(request)))

    @api.get("/v2/leagues/{league_id}/division-ladder", response_model=list[shapes.LadderShape])
    async def ladder(league_id: LeagueIdPath) -> Response:
        found = world.league(league_id)
        if found is None:
            raise not_found("League")
        rows: list[shapes.LadderShape] = [
            {
                "id": each.id,
                "name": each.name,
                "level": each.level,
                "member_count": member_count(world.memberships, each),
            }
            for each in world.divisions_of(found)
            if each.open
        ]
        return JSONResponse(rows)

    @api.get("/v2/participate")
    async def participate(league_id: Annotated[str, Query(max_length=100)]) -> Response:
        found = world.league(league_id)
        if found is None:
            raise not_found("League")
        return PlainTextResponse(f"# {found.name}\n\nAn embedded league: nothing can be submitted.\n")


def _divisions(api: APIRouter, house: House) -> None:
    world = house.world

    @api.get("/v2/divisions", response_model=list[shapes.DivisionShape])
    async def divisions(request: Request, league_id: LeagueIdQuery = None) -> Response:
        found = [each for each in world.divisions if league_id in {None, each.league.id}]
        return JSONResponse([render.division(each, root(request)) for each in found])

    @api.get("/v2/divisions/{division_id}", response_model=shapes.DivisionShape)
    async def division(request: Request, division_id: DivisionIdPath) -> Response:
        found = world.division(division_id)
        if found is None:
            raise not_found("Division")
        return JSONResponse(render.division(found, root(request)))

    @api.get("/v2/divisions/{division_id}/leaderboard", response_model=house.dialect.leaderboard_shape | None)
    async def leaderboard(division_id: DivisionIdPath) -> Response:
        found = world.division(division_id)
        if found is None:
            raise not_found("Division")
        board = render.leaderboard(world, found)
        return JSONResponse(None if board is None else house.dialect.leaderboard(board))

    @api.get("/v2/divisions/{division_id}/leaderboards")
    async def leaderboards(division_id: DivisionIdPath) -> Response:
        if world.division(division_id) is None:
            raise not_found("Division")
        return JSONResponse(None)


def _memberships(api: APIRouter, house: House) -> None:
    world, lists = house.world, house.dialect.lists
    rows: Any = lists.asked(50, 1000)

    def matching(
        *,
        mine: bool,
        league_id: str | None,
        division_id: str | None,
        version_id: str | None,
        player_id: str | None,
    ) -> list[Membership]:
        return [
            each
            for each in house.now.memberships
            if (not mine or world.owned(each.version))
            and league_id in {None, each.division.league.id}
            and division_id in {None, each.division.id}
            and version_id in {None, each.version.id}
            and player_id in {None, each.version.player.id}
        ]

    @api.get("/v2/league-policy-memberships", response_model=lists.shape(shapes.MembershipShape))
    async def memberships(
        *,
        request: Request,
        active_only: bool = False,
        champions_only: bool = False,
        mine: bool = False,
        league_id: LeagueIdQuery = None,
        division_id: DivisionIdQuery = None,
        policy_version_id: BareIdQuery = None,
        player_id: PlayerIdQuery = None,
        asked: Asked = rows,
    ) -> Response:
        found = [
            each
            for each in matching(
                mine=mine,
                league_id=league_id,
                division_id=division_id,
                version_id=policy_version_id,
                player_id=player_id,
            )
            if (each.active or not active_only) and (each.is_champion or not champions_only)
        ]
        here = root(request)
        return lists.answer(found, lambda each: each.id, asked, lambda each: render.membership(each, here))

    @api.get("/v2/league-submissions", response_model=lists.shape(shapes.SubmissionShape))
    async def submissions(
        *,
        request: Request,
        mine: bool = False,
        league_id: LeagueIdQuery = None,
        policy_version_id: BareIdQuery = None,
        player_id: PlayerIdQuery = None,
        asked: Asked = rows,
    ) -> Response:
        found = matching(
            mine=mine,
            league_id=league_id,
            division_id=None,
            version_id=policy_version_id,
            player_id=player_id,
        )
        here = root(request)

        def shown(each: Membership) -> shapes.SubmissionShape:
            return render.submission(each, each.id.replace("lpm_", "sub_"), here)

        return lists.answer(found, lambda each: each.id, asked, shown)

    @api.get("/v2/competition-events")
    async def events() -> Response:
        return JSONResponse([])


def _rounds(api: APIRouter, house: House) -> None:
    pages = house.dialect.pages
    rows: Any = pages.asked(25, 200)

    @api.get("/v2/rounds", response_model=pages.shape(shapes.RoundShape))
    async def rounds(
        *,
        request: Request,
        league_id: LeagueIdQuery = None,
        division_id: DivisionIdQuery = None,
        status: str | None = None,
        asked: Asked = rows,
    ) -> Response:
        found = [
            each
            for each in sorted(house.now.rounds, key=lambda each: (-each.created_at, each.id))
            if league_id in {None, each.division.league.id}
            and division_id in {None, each.division.id}
            and status in {None, each.status}
        ]
        here = root(request)
        return pages.answer(found, lambda each: each.id, asked, lambda each: render.round_(each, here))

    @api.get("/v2/rounds/{round_id}", response_model=shapes.RoundDetailShape)
    async def one_round(request: Request, round_id: RoundId) -> Response:
        found = next((each for each in house.now.rounds if each.id == round_id), None)
        if found is None:
            raise not_found("Round")
        turned = int(house.faults.value("moving-scores") or 0)
        house.faults.take("moving-scores")
        return JSONResponse(render.round_detail(found, root(request), turned=turned))
