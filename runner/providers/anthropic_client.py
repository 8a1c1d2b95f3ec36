"""Anthropic's SDK, asked in such a way that only our own errors come out, in the provider's words.

Replies are read as raw JSON, as at OpenAI. A create is posted as a stream: the SDK's own ``create`` would hold a
batch of 256 MB several times over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

import orjson

from runner.providers.account import hidden, is_at_home, read_url
from runner.providers.anthropic_lines import SAMPLING_VERSION, VERSION, account_trouble, needs_sampling
from runner.providers.base import Gone, NotCreated, Unclear, Unreachable
from runner.providers.loose import as_count, as_list, as_object, as_text, clock, shorten
from runner.providers.saving import Writer, paced, save_whole

if TYPE_CHECKING:
    from anthropic import Anthropic, APIStatusError

PATH = "/v1/messages/batches"
PAGE = 1000
HEAD, TAIL = b'{"requests":[', b"]}"
CHUNK = 1 << 16

MAYBE_CREATED = frozenset({408, 409, 499})
"""The 4xx that are no clear no: a timeout, a conflict, a connection closed midway."""

COUNT_S = 15.0
"""A count that takes longer is done without: nobody waits for an estimate of an estimate."""
COUNTED = frozenset({"model", "messages", "system", "output_config"})
"""What of a request's parameters its count takes: https://platform.claude.com/docs/en/api/messages-count-tokens."""

TOO_EARLY = 425
"""The request was not looked at: https://www.rfc-editor.org/rfc/rfc8470."""


class Client:
    """One account's line to one venue. What it retries costs nothing; ``create`` is sent once."""

    def __init__(self, base_url: str, api_key: str, venue: str, timeout_seconds: float, variable: str) -> None:
        """No network call is made. ``variable`` is the name by which a base URL that is none is refused."""
        from anthropic import Anthropic, DefaultHttpxClient, Timeout
        from httpx2 import HTTPTransport

        url = read_url(base_url, variable)
        self._venue = venue
        self._origin = (url.scheme, url.netloc.lower())
        self._secrets = [secret for secret in (api_key, url.password) if secret]
        # A proxy from the environment cannot reach this machine's own emulator; without a transport the SDK takes it.
        http = DefaultHttpxClient(trust_env=False, transport=HTTPTransport()) if is_at_home(url) else None
        self._sdk: Anthropic = Anthropic(
            base_url=base_url,
            api_key=api_key,
            default_headers={"anthropic-version": VERSION},
            timeout=Timeout(timeout_seconds, connect=10.0),
            http_client=http,
        )

    def create(self, path: Path) -> str:
        """Send the lines of a file, once, and return the batch's id.

        Raises NotCreated or Unclear; Unreachable when there was no connection at all, so that nothing was sent.
        """
        import anthropic
        import httpx2

        try:
            version, length = _looked_at(path)
            file = path.open("rb")
        except (OSError, ValueError) as error:
            raise NotCreated(f"The batch file {path} cannot be read ({error}); nothing was sent.") from None
        try:
            with file:
                reply = self._sdk.post(
                    PATH,
                    cast_to=httpx2.Response,
                    content=_requests(file),
                    options={
                        "max_retries": 0,
                        "follow_redirects": False,
                        "headers": {"anthropic-version": version, "content-length": str(length)},
                    },
                )
            return id_of(as_object(orjson.loads(reply.content)))
        except anthropic.APIStatusError as error:
            if not 400 <= error.status_code < 500 or error.status_code in MAYBE_CREATED:
                raise Unclear(self._said(error)) from None
            raise self._refusal(error) from None
        except anthropic.APIConnectionError as error:
            unsent = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
            raise (Unreachable if unsent else Unclear)(self._said(error)) from None
        except Exception as error:  # an unreadable 200 included: a batch may exist
            raise Unclear(self._said(error)) from None

    def retrieve(self, batch_id: str) -> tuple[dict[str, Any], datetime]:
        """The batch and the reply's Date. Raises Gone or Unreachable."""
        with self._asking(on_404=Gone):
            reply = self._sdk.messages.batches.with_raw_response.retrieve(batch_id)
            return as_object(orjson.loads(reply.http_response.content)), clock(reply.headers.get("date"))

    def pages(self) -> Iterator[tuple[list[dict[str, Any]], datetime]]:
        """The list of batches, newest first, page by page, each with its reply's Date; nothing twice."""
        after: dict[str, Any] = {}
        seen: set[str] = set()
        while True:
            with self._asking():
                reply = self._sdk.messages.batches.with_raw_response.list(limit=PAGE, **after)
                page = as_object(orjson.loads(reply.http_response.content))
                if not isinstance(page.get("data"), list):
                    raise ValueError("a list without data")
                at = clock(reply.headers.get("date"))
                entries = {id_of(entry): entry for entry in map(as_object, as_list(page["data"]))}
            new = entries.keys() - seen
            if entries and not new:
                raise Unreachable(f"A list at {self._venue} does not advance from page to page.")
            seen |= new
            yield [entry for name, entry in entries.items() if name in new], at
            if not entries or page.get("has_more") is False:
                return
            after = {"after_id": list(entries)[-1]}

    def count_tokens(self, params: dict[str, Any]) -> int:
        """The input tokens of a request as the venue counts them: free, asked once. Raises Unreachable."""
        from anthropic import Timeout

        asked = {name: value for name, value in params.items() if name in COUNTED}
        # Not retried: after a 429 the SDK would wait for up to a minute.
        with self._asking():
            messages = self._sdk.with_options(max_retries=0).messages
            reply = messages.with_raw_response.count_tokens(**asked, timeout=Timeout(COUNT_S, connect=5.0))
            tokens = as_count(as_object(orjson.loads(reply.http_response.content)).get("input_tokens"))
            if not tokens:
                raise ValueError("a count without a number")
            return tokens

    def cancel(self, batch_id: str) -> None:
        """Ask for cancellation; a batch that has ended already is left as it is. Raises Gone or Unreachable."""
        import anthropic

        with self._asking(on_404=Gone):
            try:
                self._sdk.messages.batches.with_raw_response.cancel(batch_id)
            except (anthropic.BadRequestError, anthropic.ConflictError):
                return

    def download(self, batch_id: str, results_url: str, path: Path, least_lines: int) -> None:
        """Save the results, which should have so many lines.

        Raises Gone, and Unreachable where they came shorter than the reply said (httpx compares the lengths).
        """
        save_whole(lambda writer: self._stream(batch_id, results_url, writer), path, least_lines)

    def hidden(self, words: str | None) -> str | None:
        """What the venue said, without the key."""
        return hidden(words, self._secrets)

    def _stream(self, batch_id: str, results_url: str, writer: Writer) -> None:
        import httpx2

        with self._asking(on_404=Gone):
            reply = self._sdk.get(
                self._at_home(batch_id, results_url),
                cast_to=httpx2.Response,
                options={"headers": {"Accept": "application/binary", "X-Stainless-Raw-Response": "stream"}},
            )
            with closing(reply):
                for chunk in paced(reply.iter_bytes()):
                    writer.write(chunk)

    def _at_home(self, batch_id: str, results_url: str) -> str:
        """Where the results are asked for: never at another host than the venue's, for the key goes with it."""
        url = urlsplit(results_url)
        if not url.netloc or (url.scheme, url.netloc.lower()) == self._origin:
            return results_url
        return f"{PATH}/{batch_id}/results"

    def _refusal(self, error: APIStatusError) -> NotCreated:
        said = _error(error)
        trouble = account_trouble(said)
        may_pass = error.status_code == 429 and trouble is None
        code = as_text(as_object(said.get("details")).get("error_code")) or as_text(said.get("type"))
        return NotCreated(
            self._said(error),
            code=trouble or self.hidden(code),
            retry_later=may_pass or error.status_code == TOO_EARLY,
            is_full=may_pass,
        )

    @contextmanager
    def _asking(self, on_404: type[Exception] = Unreachable) -> Iterator[None]:
        """Around calls that cost nothing: whatever is raised becomes Unreachable, or ``on_404``."""
        import anthropic
        import httpx2

        try:
            yield
        except anthropic.NotFoundError as error:
            raise on_404(self._said(error)) from None
        except (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise Unreachable(self._said(error), is_refusal=getattr(error, "status_code", 0) in (401, 403)) from None

    def _said(self, error: Exception) -> str:
        """The provider's words in one sentence: its message and type, never a header, a key or a password."""
        import anthropic
        import httpx2

        if isinstance(error, anthropic.APIStatusError):
            said = _error(error)
            words, kind = as_text(said.get("message")) or "no reason given", as_text(said.get("type"))
            sentence = f"{self._venue} answered {error.status_code}: {words}{f' ({kind})' if kind else ''}"
        elif isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
            sentence = f"{self._venue} did not answer in time."
        elif isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
            sentence = f"The connection to {self._venue} failed: {error.__cause__ or error}"
        else:
            sentence = f"{self._venue} sent a reply that cannot be read ({type(error).__name__})."
        return shorten(self.hidden(sentence)) or ""


def id_of(batch: dict[str, Any]) -> str:
    """The id of a batch; ValueError where there is none."""
    found = as_text(batch.get("id"))
    if not found:
        raise ValueError("a reply without an id")
    return found


def _error(error: APIStatusError) -> dict[str, Any]:
    return as_object(as_object(error.body).get("error"))


def _looked_at(path: Path) -> tuple[str, int]:
    """The API version that the lines of a batch file need, and the bytes of the body that ``_requests`` makes."""
    with path.open("rb") as lines:
        version = SAMPLING_VERSION if any(map(needs_sampling, lines)) else VERSION
        size = lines.seek(-1, 2) + 1
        is_ended = lines.read(1) == b"\n"
    return version, len(HEAD) + size - is_ended + len(TAIL)


def _requests(file: BinaryIO) -> Iterator[bytes]:
    """The create's body: the file's lines as the elements of one JSON array."""
    yield HEAD
    pending = b""
    while chunk := file.read(CHUNK):
        # JSON of one line holds no raw line feed, so each one in the file stands between two elements, or at the end.
        yield pending.replace(b"\n", b",")
        pending = chunk
    yield pending.removesuffix(b"\n").replace(b"\n", b",")
    yield TAIL
