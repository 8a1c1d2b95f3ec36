"""The bodies of ``/v1/responses``, the only endpoint of some models. It gives one answer per request.

Formats: https://platform.openai.com/docs/api-reference/responses/create and /responses/object.
"""

from __future__ import annotations

from typing import Any, Final

from runner.models import Model
from runner.providers.loose import as_list, as_object, as_text
from runner.providers.openai_caching import contents, settings
from runner.providers.openai_usage import tier_of, tokens_of, version_of
from runner.request import Body, Hint, Response, Status

RESPONSES: Final = "/v1/responses"

ANSWERED = frozenset({"completed", "incomplete", None})
"""Any other ``status`` (failed, cancelled, queued, in_progress) is no answer."""


def responses_body(card: Model, model: str, body: Body, hint: Hint | None = None) -> dict[str, Any]:
    """What is asked of the endpoint. Nothing of it is kept there: the default would be 30 days."""
    told = zip(body.messages, contents(body, hint, "input_text"), strict=True)
    asked: dict[str, Any] = {
        "model": model,
        "input": [{"role": message.role, "content": content} for message, content in told],
        card.output_limit_parameter: body.max_output_tokens,
        "store": False,
        **settings(hint),
    }
    refused = card.refused_at(body.effort)
    for name, value in {"temperature": body.temperature, "top_p": body.top_p}.items():
        if value is not None and name not in refused:
            asked[name] = value
    if body.effort is not None:
        asked["reasoning"] = {"effort": body.effort}
    return asked


def response_answer(request_id: str, body: dict[str, Any]) -> Response | None:
    """The answer in a response object; None where it holds none, because it failed or is something else."""
    status = as_text(body.get("status"))
    output = [as_object(item) for item in as_list(body.get("output"))]
    if status not in ANSWERED or as_object(body.get("error")) or not (output or status == "incomplete"):
        return None
    reason = as_text(as_object(body.get("incomplete_details")).get("reason"))
    text, refusal = (_said(output, kind, field) for kind, field in (("output_text", "text"), ("refusal", "refusal")))
    return Response(
        request_id=request_id,
        choice=0,
        status=_ending(status, reason, refusal),
        text=text or refusal,
        finish_reason=reason or status,
        model_version=version_of(body),
        service_tier=tier_of(body),
        **tokens_of(as_object(body.get("usage"))),
    )


def _ending(status: str | None, reason: str | None, refusal: str) -> Status:
    if reason == "content_filter":
        return Status.FILTERED
    if refusal:
        return Status.REFUSED
    return Status.TRUNCATED if reason or status == "incomplete" else Status.OK


def _said(output: list[dict[str, Any]], kind: str, field: str) -> str:
    """The parts of one kind in the messages; what a model says on its way (``commentary``) is no answer."""
    messages = [item for item in output if item.get("type") == "message"]
    answers = [message for message in messages if message.get("phase") != "commentary"] or messages
    parts = [as_object(part) for message in answers for part in as_list(message.get("content"))]
    return "".join(as_text(part.get(field)) or "" for part in parts if part.get("type") == kind)
