"""OpenAI's SDK, asked in such a way that only our own errors come out, in the provider's words.

Replies are read as raw JSON: the SDK does not validate what it parses, hides the Date header, and raises odd
things at odd bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from runner.providers.account import hidden, is_at_home, read_url
from runner.providers.base import ACCOUNT_TROUBLE, Gone, NotCreated, Unclear, Unreachable
from runner.providers.loose import as_code, as_count, as_list, as_object, as_text, clock, shorten
from runner.providers.openai_jobs import queue_limit
from runner.providers.saving import Writer, paced, saving

if TYPE_CHECKING:
    from openai import OpenAI

MAYBE_CREATED = frozenset({408, 409, 499})
"""The 4xx that are no clear no: a timeout, a conflict, a connection closed midway."""

NOT_ABOUT_THE_FILE = MAYBE_CREATED | {401, 403, 429}

QUEUE_FULL = "token_limit_exceeded"
NOT_YET = re.compile(r"cannot find file|no such file|not ready|file.*(not found|being processed)", re.I)


class Client:
    """One account's line to one venue. ``sdk`` retries by itself; ``post_once`` never does."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        venue: str,
        timeout_seconds: float,
        variable: str,
        headers: dict[str, Any] | None = None,
    ) -> None:
        """``variable`` is the name by which a base URL that is none is refused."""
        from openai import DefaultHttpxClient, OpenAI, Timeout

        url = read_url(base_url, variable)
        self.venue = venue
        self._secrets = [secret for secret in (api_key, url.password) if secret]
        # A proxy from the environment cannot reach this machine's own emulator.
        http = DefaultHttpxClient(trust_env=False) if is_at_home(url) else None
        self.sdk: OpenAI = OpenAI(
            base_url=base_url,
            api_key=api_key,
            default_headers=headers,
            timeout=Timeout(timeout_seconds, connect=10.0),
            http_client=http,
        )

    def post_once(self, path: str, body: dict[str, Any]) -> bytes:
        """The body of the reply to one POST: neither the SDK nor a redirect repeats it."""
        from httpx2 import Response

        options: Any = {"max_retries": 0, "follow_redirects": False}
        return self.sdk.post(path, cast_to=Response, body=body, options=options).content

    @contextmanager
    def asking(self, on_404: type[Exception] = Unreachable) -> Iterator[None]:
        """Around calls that cost nothing: whatever is raised becomes Unreachable, or ``on_404``."""
        import httpx2
        import openai

        try:
            yield
        except openai.NotFoundError as error:
            raise on_404(self._said(error)) from None
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise Unreachable(self._said(error), is_refusal=getattr(error, "status_code", 0) in (401, 403)) from None

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Around an upload, inside ``asking``: what the venue has against the file is NotCreated."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if 400 <= error.status_code < 500 and error.status_code not in NOT_ABOUT_THE_FILE:
                raise NotCreated(self._said(error), code=self.hidden(as_code(error.code))) from None
            raise

    @contextmanager
    def creating(self) -> Iterator[None]:
        """Around a create: a clear no is NotCreated; whatever may have left a job behind is Unclear.

        Where there was no connection at all, nothing was sent: Unreachable.
        """
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if not 400 <= error.status_code < 500 or error.status_code in MAYBE_CREATED:
                raise Unclear(self._said(error)) from None
            raise NotCreated(
                self._said(error),
                code=self.hidden(as_code(error.code)),
                retry_later=_may_pass(error),
                is_full=_may_pass(error) and (error.status_code == 429 or error.code == QUEUE_FULL),
                learned_queue_tokens=queue_limit(error.message),
            ) from None
        except openai.APIConnectionError as error:
            unsent = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
            raise (Unreachable if unsent else Unclear)(self._said(error)) from None
        except Exception as error:  # an unreadable 200 included: a job may exist
            raise Unclear(self._said(error)) from None

    def pages(
        self, ask: Callable[..., Any], limit: int, *, has_more: bool = True
    ) -> Iterator[tuple[list[dict[str, Any]], datetime]]:
        """The entries of a list, page by page, each with its reply's Date; nothing twice.

        ``has_more`` False where the venue gives a list whole, whatever is asked.
        """
        after: dict[str, Any] = {}
        seen: set[str] = set()
        while True:
            with self.asking():
                reply = ask(limit=limit, **after)
                page = orjson.loads(reply.content)
                page = {"data": page} if isinstance(page, list) else as_object(page)
                if not isinstance(page.get("data"), list):
                    raise ValueError("a list without data")
                at = clock(reply.headers.get("date"))
                entries = {id_of(entry): entry for entry in map(as_object, page["data"])}
            new = entries.keys() - seen
            if entries and not new and len(entries) < limit and "has_more" not in page:
                return  # a server without cursors gives its whole list again
            if entries and not new:
                raise Unreachable(f"A list at {self.venue} does not advance from page to page.")
            seen |= new
            yield [entry for name, entry in entries.items() if name in new], at
            if not entries or page.get("has_more") is False or (not has_more and page.get("has_more") is not True):
                return
            after = {"after": list(entries)[-1]}

    def download(self, file_id: str, path: Path) -> None:
        """Stream a file into ``path``. Raises Gone, and Unreachable where it came with another length than said."""
        with saving(path) as writer, self.asking(on_404=Gone):
            self._stream(file_id, writer)

    def _stream(self, file_id: str, writer: Writer) -> None:
        card = as_object(orjson.loads(self.sdk.files.with_raw_response.retrieve(file_id).content))
        length = 0
        with self.sdk.files.with_streaming_response.content(file_id) as reply:
            for chunk in paced(reply.iter_bytes()):
                length += len(chunk)
                writer.write(chunk)
            received = reply.http_response.num_bytes_downloaded
            promised = reply.headers.get("content-length")
        expected = as_count(card.get("bytes"))  # 0 where a server does not know
        if (promised and int(promised) != received) or (expected and expected != length):
            raise Unreachable(f"The file {file_id} came with {length:,} of {expected or promised} bytes.")

    def _said(self, error: Exception) -> str:
        """The provider's words in one sentence: its message and code, never a header, a key or a password."""
        import httpx2
        import openai

        if isinstance(error, openai.APIStatusError):
            sentence = f"{self.venue} answered {error.status_code}: {_words(error.body) or 'no reason given'}"
            sentence += f" ({error.code})" if error.code else ""
        elif isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
            sentence = f"{self.venue} did not answer in time."
        elif isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
            sentence = f"The connection to {self.venue} failed: {error.__cause__ or error}"
        else:
            sentence = f"{self.venue} sent a reply that cannot be read ({type(error).__name__})."
        return shorten(self.hidden(sentence)) or ""

    def hidden(self, words: str | None) -> str | None:
        """What the venue said, without the key."""
        return hidden(words, self._secrets)


def id_of(entry: dict[str, Any]) -> str:
    """The id of a file or a job; ValueError where there is none."""
    found = as_text(entry.get("id")) or as_text(as_object(entry.get("job")).get("id"))  # Together wraps a new job
    if not found:
        raise ValueError("a reply without an id")
    return found


def id_in(content: bytes) -> str:
    """The id in the body of a reply; ValueError where there is none."""
    return id_of(as_object(orjson.loads(content)))


def _words(body: object) -> str | None:
    """The message of an error body, or what a FastAPI server has against each field (Mistral, vLLM)."""
    said = as_object(body)
    details = as_list(said.get("detail")) or as_list(as_object(said.get("message")).get("detail"))
    found = [as_text(as_object(detail).get("msg")) for detail in details]
    return as_text(said.get("message")) or as_text(said.get("detail")) or " ".join(filter(None, found)) or None


def _may_pass(error: Any) -> bool:
    """Whether the same create may work later: a full queue, or a file that is not ready yet.

    A spent budget (whose code varies: then its type says it) does not pass by waiting. OpenAI says that a queue is
    full by 429, Azure by 400.
    """
    if ACCOUNT_TROUBLE & {as_code(error.code), as_code(error.type)}:
        return False
    said = f"{error.message} {_words(error.body) or ''}"
    is_early = error.status_code in (425, 429) or (error.status_code == 404 and "file" in said.lower())
    return is_early or error.code == QUEUE_FULL or bool(NOT_YET.search(said))
