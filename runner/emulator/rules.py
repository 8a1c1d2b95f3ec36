"""What a provider allows and how long it keeps things: the ``[rules]`` and ``[cache]`` of its tariff file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class CacheRules:
    """When a prompt's beginning is read from the cache.

    ``automatic`` = any long prompt; else only where the request asks for it. Counts are tokens. Providers promise no
    hits ("best effort"): without a ``hit_rate`` it is drawn from ``hit_rates`` per seed and model, and for what is
    kept only minutes again, from their lower end to that: a client cannot know it either.
    """

    automatic: bool = True
    from_tokens: int = 1024
    step_tokens: int = 128
    hit_rate: float | None = None
    hit_rates: tuple[float, float] = (0.3, 0.98)


@dataclass(frozen=True, slots=True)
class Rules:
    """One provider's rules; None = no such limit. Times are seconds, sizes bytes.

    ``window_s``            how long a job may take, from its creation
    ``max_…``               per job (requests, bytes), per hour of the clock (batches), at once (open jobs)
    ``queue``               limited over all open jobs: prompt ``tokens`` per model, or ``requests`` of the account
    ``queue_requests``      the latter limit by usage tier, from 1 (tokens: the model's ``queue_tokens``)
    ``full``                a full queue ``fails`` the job after validating, or is ``refused`` (429) at create
    ``results_kept_from``   the ``end`` of the job or its ``creation``
    ``keeps_when_…``        whether what an expired or cancelled job has answered is delivered (and billed)
    ``one_result_file``     answers and errors come in one file; else in two
    ``input_purpose``       the purpose of an uploaded file that a job may be made of
    ``…_prefix``            how ids begin
    ``tokens_per_token``    its tokenizer's count over ours, drawn per seed and model from this range
    """

    window_s: float = 86_400.0
    max_requests: int | None = None
    max_bytes: int | None = None
    max_batches_per_hour: int | None = None
    max_open_jobs: int | None = None
    queue: Literal["tokens", "requests"] | None = None
    queue_requests: tuple[int, ...] = ()
    full: Literal["fails", "refused"] = "refused"
    inputs_kept_s: float | None = None
    results_kept_s: float | None = None
    results_kept_from: Literal["end", "creation"] = "end"
    keeps_when_expired: bool = True
    keeps_when_cancelled: bool = True
    one_result_file: bool = False
    input_purpose: str = "batch"
    job_prefix: str = "batch_"
    file_prefix: str = "file-"
    result_prefix: str = "file-"
    tokens_per_token: tuple[float, float] = (1.0, 1.0)
    cache: CacheRules = field(default_factory=CacheRules)
