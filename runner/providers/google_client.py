"""Gemini's HTTP, asked in such a way that only our own errors come out, in the provider's words.

The SDK uploads. All else is asked through the HTTP client that we give it, for the SDK drops half of a job's JSON
and warns of states that it does not know. Nothing is retried but what costs nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from runner.providers.account import hidden, is_at_home, read_url
from runner.providers.base import Gone, NotCreated, Unclear, Unreachable
from runner.providers.google_codes import NO_FILE, account_trouble, sentence_of, word_of
from runner.providers.google_jobs import name_of
from runner.providers.loose import as_count, as_object, as_text, clock, shorten
from runner.providers.saving import Writer, paced, save_whole

if TYPE_CHECKING:
    from google.genai import Client as Sdk
    from google.genai.errors import APIError
    from httpx2 import Response

VERSION = "v1"
KEY = "x-goog-api-key"
MIME = "application/jsonl"
PAGE = 100
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
PAUSES_S = (0.5, 1.5)
"""Between the attempts of a call that costs nothing."""

COUNT_S = 15.0
"""A count that takes longer is done without: nobody waits for an estimate of an estimate."""

PROCESSING_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""How long an uploaded file is waited for; after that the create says whether it is ready."""

MAYBE_CREATED = frozenset({408, 409, 499})
"""The 4xx that are no clear no: a timeout, a conflict, a connection closed midway."""

TOO_EARLY = 425
"""The request was not looked at: https://www.rfc-editor.org/rfc/rfc8470."""

REDIRECTS = 3
"""How often a download is sent on."""

NOT_ABOUT_THE_FILE = MAYBE_CREATED | {401, 403, 404, 410, TOO_EARLY, 429}
"""Of an upload: the account, the moment, or a session that is over."""


class Client:
    """One account's line to one venue. ``create`` is sent once."""

    def __init__(self, base_url: str, api_key: str, venue: str, timeout_seconds: float, variable: str) -> None:
        """No network call is made. ``variable`` is the name by which a base URL that is none is refused."""
        import httpx2

        url = read_url(base_url, variable)
        self._venue = venue
        self._root = f"{base_url.rstrip('/')}/{VERSION}"
        self._secrets = [secret for secret in (api_key, url.password) if secret]
        self._key = {KEY: api_key}
        # A proxy from the environment cannot reach this machine's own emulator.
        self._http = httpx2.Client(trust_env=not is_at_home(url), timeout=httpx2.Timeout(timeout_seconds, connect=10.0))
        self._base_url = base_url
        self._timeout_seconds = timeout_seconds

    def upload(self, path: Path, tag: str) -> str:
        """Send a file by the resumable protocol, wait until it can be used, and return its name."""
        with self._asking(), self._sending():
            file_id = self._sdk().files.upload(file=path, config={"mime_type": MIME, "display_name": tag}).name
            if not file_id:
                raise ValueError("a file without a name")
            for pause in PROCESSING_S:
                file, _ = self._read(file_id)
                if file.get("state") != "PROCESSING":
                    break
                time.sleep(pause)
        if file.get("state") == "FAILED":
            said = self.hidden(sentence_of(as_object(file.get("error"))))
            raise NotCreated(f"{self._venue} could not process the file: {said or 'no reason given'}")
        return file_id

    def create(self, model: str, file_id: str, tag: str) -> str:
        """Make the job, once, and return its name.

        Raises NotCreated or Unclear; Unreachable when there was no connection at all, so that nothing was sent.
        """
        import httpx2
        from google.genai.errors import APIError

        url = f"{self._root}/models/{quote(model)}:batchGenerateContent"
        asked = {"batch": {"displayName": tag, "inputConfig": {"fileName": file_id}}}
        try:
            reply = self._http.post(url, json=asked, headers=self._key)
            _check(reply)
            return name_of(_json(reply))
        except APIError as error:
            if not 400 <= error.code < 500 or error.code in MAYBE_CREATED:
                raise Unclear(self._said(error)) from None
            raise self._refusal(error) from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise Unreachable(self._said(error)) from None
        except Exception as error:  # an unreadable 200 included: a job may exist
            raise Unclear(self._said(error)) from None

    def get(self, name: str) -> tuple[dict[str, Any], datetime]:
        """A resource and the reply's Date. Raises Gone or Unreachable."""
        with self._asking(on_404=Gone):
            found, at = self._read(name)
            name_of(found)
            return found, at

    def pages(self, name: str, key: str) -> Iterator[tuple[list[dict[str, Any]], datetime]]:
        """The entries of a list, page by page, each with its reply's Date; nothing twice."""
        token: dict[str, str] = {}
        seen: set[str] = set()
        while True:
            with self._asking():
                page, at = self._read(name, pageSize=PAGE, **token)
                listed = page.get(key, [])  # an empty list is left out
                if not isinstance(listed, list):
                    raise ValueError("a list that is none")
                entries = {name_of(entry): entry for entry in map(as_object, listed)}
            new = entries.keys() - seen
            following = as_text(page.get("nextPageToken"))
            if following and (token.get("pageToken") == following or (entries and not new)):
                raise Unreachable(f"A list at {self._venue} does not advance from page to page.")
            seen |= new
            yield [entry for entry_name, entry in entries.items() if entry_name in new], at
            if not following:
                return
            token = {"pageToken": following}

    def count_tokens(self, model: str, request: dict[str, Any]) -> int:
        """The input tokens of a request as the venue counts them: free, asked once. Raises Unreachable.

        https://ai.google.dev/api/tokens. The SDK's own call refuses system instructions.
        """
        import httpx2

        url = f"{self._root}/models/{quote(model)}:countTokens"
        asked = {"generateContentRequest": {"model": f"models/{model}", **request}}
        with self._asking():
            reply = self._http.post(url, json=asked, headers=self._key, timeout=httpx2.Timeout(COUNT_S, connect=5.0))
            _check(reply)
            tokens = as_count(_json(reply).get("totalTokens"))
            if not tokens:
                raise ValueError("a count without a number")
            return tokens

    def cancel(self, name: str) -> None:
        """Ask for cancellation; a job that has ended already is left as it is. Raises Gone or Unreachable."""
        from google.genai.errors import APIError

        with self._asking(on_404=Gone):
            try:
                self._patiently("POST", f"{name}:cancel")
            except APIError as error:
                if error.code not in (400, 409):
                    raise

    def delete(self, name: str) -> None:
        """Delete a file. Raises Gone or Unreachable."""
        with self._asking(on_404=Gone):
            self._patiently("DELETE", name)

    def download(self, file_id: str, path: Path, least_lines: int) -> None:
        """Save a result file that should have so many lines. Raises Gone, and Unreachable where it came short."""
        with self._asking(on_404=Gone):
            save_whole(lambda writer: self._stream(file_id, writer), path, least_lines)

    def hidden(self, words: str | None) -> str | None:
        """What the venue said, without the key."""
        return hidden(words, self._secrets)

    def _sdk(self) -> Sdk:
        """The SDK over our own HTTP client; without retry options it repeats nothing but a lost chunk."""
        from google.genai import Client as Sdk
        from google.genai.types import HttpOptions

        # It would say which of two keys of the environment it takes, and takes the one that we give it.
        logging.getLogger("google_genai").setLevel(logging.ERROR)
        return Sdk(
            api_key=self._key[KEY],
            vertexai=False,
            http_options=HttpOptions(
                base_url=self._base_url,
                api_version=VERSION,
                timeout=int(self._timeout_seconds * 1000),
                httpx_client=self._http,
            ),
        )

    def _stream(self, file_id: str, writer: Writer) -> None:
        url = f"{self._root}/{quote(file_id)}:download?alt=media"
        request = self._http.build_request("GET", url, headers=self._key)
        reply = self._http.send(request, stream=True)
        for _ in range(REDIRECTS):
            onward = reply.next_request
            if onward is None:
                break
            if (onward.url.scheme, onward.url.netloc) != (request.url.scheme, request.url.netloc):
                onward.headers.pop(KEY, None)  # it stays at home, wherever the file lies
            reply.close()
            reply = self._http.send(onward, stream=True)
        try:
            _check(reply)
            for chunk in paced(reply.iter_bytes()):  # raises where the body is not as long as its Content-Length
                writer.write(chunk)
        finally:
            reply.close()

    def _read(self, name: str, **query: str | int) -> tuple[dict[str, Any], datetime]:
        reply = self._patiently("GET", name, **query)
        return _json(reply), clock(reply.headers.get("date"))

    def _patiently(self, method: str, name: str, **query: str | int) -> Response:
        """A call that costs nothing, asked up to three times."""
        import httpx2
        from google.genai.errors import APIError

        url, pauses = f"{self._root}/{quote(name, safe='/:')}", list(PAUSES_S)
        while True:
            try:
                reply = self._http.request(method, url, params=query, headers=self._key)
                _check(reply)
                return reply
            except (APIError, httpx2.TransportError) as error:
                if not pauses or getattr(error, "code", 503) not in RETRIED:
                    raise
                time.sleep(pauses.pop(0))

    @contextmanager
    def _asking(self, on_404: type[Exception] = Unreachable) -> Iterator[None]:
        """Around calls that cost nothing: whatever is raised becomes Unreachable, or ``on_404``."""
        import httpx2
        from google.genai.errors import APIError

        try:
            yield
        except APIError as error:
            said = _error(error)
            if error.code == 404 or NO_FILE.search(sentence_of(said) or ""):
                raise on_404(self._said(error)) from None
            is_refusal = error.code in (401, 403) or account_trouble(said) == "billing_not_active"
            raise Unreachable(self._said(error), is_refusal=is_refusal) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError, AttributeError) as error:
            raise Unreachable(self._said(error)) from None  # the SDK trips over odd replies in many ways

    @contextmanager
    def _sending(self) -> Iterator[None]:
        """Around an upload, inside ``_asking``: what the venue has against the file is NotCreated."""
        from google.genai.errors import APIError

        try:
            yield
        except APIError as error:
            said = _error(error)
            is_moment = error.code in NOT_ABOUT_THE_FILE or word_of(said) == "RESOURCE_EXHAUSTED"
            if 400 <= error.code < 500 and not is_moment and account_trouble(said) is None:
                raise NotCreated(self._said(error), code=self.hidden(word_of(said))) from None
            raise

    def _refusal(self, error: APIError) -> NotCreated:
        said = _error(error)
        trouble, sentence = account_trouble(said), sentence_of(said) or ""
        is_full = error.code == 429 and trouble is None
        # A missing file and a missing model are both NOT_FOUND; only one of them may come.
        is_missing = bool(NO_FILE.search(sentence)) or (error.code == 404 and "model" not in sentence)
        return NotCreated(
            self._said(error),
            code=trouble or self.hidden(word_of(said)),
            retry_later=is_full or is_missing or error.code == TOO_EARLY,
            is_full=is_full,
        )

    def _said(self, error: Exception) -> str:
        """The provider's words in one sentence: its message and status, never a header, a key or a password."""
        import httpx2
        from google.genai.errors import APIError

        if isinstance(error, APIError):
            said = _error(error)
            word = word_of(said)
            sentence = f"{self._venue} answered {error.code}: {sentence_of(said) or 'no reason given'}"
            sentence += f" ({word})" if word else ""
        elif isinstance(error, httpx2.TimeoutException):
            sentence = f"{self._venue} did not answer in time."
        elif isinstance(error, httpx2.HTTPError):
            sentence = f"The connection to {self._venue} failed: {error}"
        else:
            sentence = f"{self._venue} sent a reply that cannot be read ({type(error).__name__})."
        return shorten(self.hidden(sentence)) or ""


def _check(reply: Response) -> None:
    """Raises APIError where the reply is no 200; the SDK's own check trips over a body that is no UTF-8."""
    from google.genai.errors import APIError

    try:
        APIError.raise_for_response(reply)
    except (ValueError, RecursionError):
        APIError.raise_error(reply.status_code, {}, reply)


def _json(reply: Response) -> dict[str, Any]:
    """The object in a reply; ValueError where there is none."""
    found = orjson.loads(reply.content)
    if not isinstance(found, dict):
        raise ValueError("a reply that is no object")
    return found


def _error(error: APIError) -> dict[str, Any]:
    """The ``error`` object of an answer; a proxy's page has none."""
    return as_object(as_object(error.details).get("error"))
