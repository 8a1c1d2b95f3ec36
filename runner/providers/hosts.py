"""What services that speak OpenAI's dialect do otherwise than one another, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from runner.providers.account import host_of, read_url


@dataclass(frozen=True, slots=True)
class Host:
    """One service: where it is found and what a batch may hold there.

    ``key_variables`` are the environment variables of its key, the first one set counts; ``url_variable`` may lead
    elsewhere. ``names`` are the hosts of its home: only there the venue bears the service's ``name``.
    Limits are None where nothing is documented; they mean what ``Limits`` says. ``results_kept`` counts from the
    end of a job. ``has_pages`` is False where a list comes whole, whatever is asked. ``thinks_aloud`` where thoughts
    may stand in the answer. ``inputs_kept`` is asked for with an upload, None where the service may not know how;
    ``results_stay`` where results are kept for ever unless ``results_kept`` is asked for; ``splits_results`` where
    failures always have a file of their own.
    """

    name: str
    home: str
    names: tuple[str, ...]
    key_variables: tuple[str, ...]
    url_variable: str
    max_requests: int
    max_bytes: int
    max_line_bytes: int | None = None
    max_jobs: int | None = None
    queue_tokens: int | None = None
    queue_requests: int | None = None
    results_kept: timedelta = timedelta(days=30)
    has_pages: bool = True
    thinks_aloud: bool = True
    inputs_kept: timedelta | None = None
    results_stay: bool = False
    splits_results: bool = False

    def url(self, env: Mapping[str, str]) -> str:
        """The base URL, version included, to which the environment leads. Raises RunnerError when it is none."""
        url = env.get(self.url_variable) or self.home
        read_url(url, self.url_variable)
        return url

    def venue(self, url: str) -> str:
        """Who answers at this URL: the service, or the host[:port] in lower case."""
        host = host_of(read_url(url, self.url_variable))
        return self.name if host in self.names else host

    def key_variable(self, env: Mapping[str, str]) -> str:
        """The variable that holds the key, or the one to be set."""
        return next((name for name in self.key_variables if env.get(name, "").strip()), self.key_variables[0])
