"""Who is served: each provider, the protocol that it speaks, and how a client is sent here instead."""

from __future__ import annotations

from dataclasses import dataclass

from runner.emulator.dialect import Dialect
from runner.emulator.protocols import anthropic, compatible, google, mistral, openai, together


@dataclass(frozen=True)
class Host:
    """A provider. Clients take the address from ``variable``; ``path`` is what of it comes after ``/<provider>``."""

    dialect: Dialect
    variable: str
    path: str = ""


HOSTS: dict[str, Host] = {
    "openai": Host(openai.DIALECT, "OPENAI_BASE_URL", "/v1"),
    "anthropic": Host(anthropic.DIALECT, "ANTHROPIC_BASE_URL"),
    "google": Host(google.DIALECT, "GOOGLE_GEMINI_BASE_URL"),
    "groq": Host(compatible.GROQ, "GROQ_BASE_URL", "/v1"),
    "nebius": Host(compatible.NEBIUS, "NEBIUS_BASE_URL", "/v1"),
    "deepinfra": Host(compatible.DEEPINFRA, "DEEPINFRA_BASE_URL", "/v1"),
    "together": Host(together.DIALECT, "TOGETHER_BASE_URL", "/v1"),
    "qwen": Host(compatible.QWEN, "DASHSCOPE_BASE_URL", "/v1"),
    "mistral": Host(mistral.DIALECT, "MISTRAL_BASE_URL", "/v1"),
}
