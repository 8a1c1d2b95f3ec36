"""What no real provider has: the bill in full, the clock's handle, the switches of the faults."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from runner.emulator import tokenizer
from runner.emulator.faults import FAULTS, Unit, described, parse
from runner.emulator.service import Service

SHOWN = (
    "id",
    "provider",
    "state",
    "model",
    "endpoint",
    "input_file",
    "metadata",
    "faults",
    "total",
    "refused",
    "tokens",
    "completed",
    "failed",
    "expired",
    "cancelled",
    "output_file",
    "error_file",
    "created_at",
    "expires_at",
    "next_at",
)
BILLED = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "usd")


def mount(service: Service) -> Mount:
    """The routes under ``/control``."""

    async def bill(_: Request) -> Response:
        return _json(await run_in_threadpool(_bill, service))

    async def jobs(request: Request) -> Response:
        if request.method == "POST":
            asked = await _body(request)
            fault = FAULTS.get(str(asked.get("fault")))
            if fault is None or fault.unit is not Unit.JOB:
                return _json({"error": 'send {"job": its id, "fault": the name of a fault of jobs}'}, 400)
            if not await run_in_threadpool(service.life.strike, str(asked.get("job")), fault.name):
                return _json({"error": "no such job is validating or in progress"}, 409)
        return _json(await run_in_threadpool(_jobs, service))

    async def clock(request: Request) -> Response:
        if request.method == "POST":
            raw = await _body(request)
            if set(raw) != {"advance_s"} or not isinstance(raw["advance_s"], int | float):
                return _json({"error": 'send {"advance_s": seconds}'}, 400)
            await run_in_threadpool(service.clock.advance, float(raw["advance_s"]))
        return _json({"mode": service.clock.mode, "now": service.clock.now()})

    async def faults(request: Request) -> Response:
        if request.method == "POST":
            asked = await _body(request)
            if not asked:
                return _json({"error": 'send {"storm_429": 1}: names of faults and their rates'}, 400)
            try:
                rates = dict(parse(f"{name}:{rate}") for name, rate in asked.items())
            except ValueError as error:
                return _json({"error": str(error)}, 400)
            await run_in_threadpool(service.faults.put, rates)
            return _json(service.faults.rates())
        rates = service.faults.rates()
        return _json({name: {"rate": rates.get(name, 0.0), **described(fault)} for name, fault in FAULTS.items()})

    return Mount(
        "/control",
        routes=[
            Route("/bill", bill),
            Route("/jobs", jobs, methods=["GET", "POST"]),
            Route("/clock", clock, methods=["GET", "POST"]),
            Route("/faults", faults, methods=["GET", "POST"]),
        ],
    )


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


async def _body(request: Request) -> dict[str, Any]:
    try:
        raw = orjson.loads(await request.body())
    except orjson.JSONDecodeError:
        return {}
    return raw if isinstance(raw, dict) else {}


def _bill(service: Service) -> dict[str, object]:
    """Every request that was charged, one line each time; totals; and per job what it came to."""
    service.life.settle()
    rows = service.store.db.execute(
        "SELECT bill.custom_id, jobs.id AS job, jobs.provider, bill.model,"
        f" {', '.join(f'bill.{key}' for key in BILLED)} FROM bill JOIN jobs ON jobs.seq = bill.job ORDER BY bill.seq"
    )
    sums = {
        row["job"]: (row["n"], row["usd"])
        for row in service.store.db.execute("SELECT job, count(*) AS n, sum(usd) AS usd FROM bill GROUP BY job")
    }
    totals = service.store.db.execute(
        f"SELECT count(*) AS requests, {', '.join(f'coalesce(sum({key}), 0) AS {key}' for key in BILLED)} FROM bill"
    ).fetchone()
    return {
        "tokenizer": service.store.setting("tokenizer") or tokenizer.name(),
        "requests": [dict(row) for row in rows],
        "jobs": [
            {
                "job": job.id,
                "provider": job.provider,
                "state": job.state,
                "created_at": job.created_at,
                "model": job.model,
                "requests": sums.get(job.seq, (0, 0.0))[0],
                "usd": sums.get(job.seq, (0, 0.0))[1],
            }
            for job in service.jobs.select("ORDER BY seq")
        ],
        "totals": dict(totals),
    }


def _jobs(service: Service) -> dict[str, object]:
    """The table of jobs, oldest first."""
    service.life.settle()
    jobs = service.jobs.select("ORDER BY seq")
    return {"jobs": [{name: getattr(job, name) for name in SHOWN} for job in jobs]}
