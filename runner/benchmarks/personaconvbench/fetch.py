"""The published file, from the Hugging Face hub, pinned by its digest and, once fetched, by its commit."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from runner.errors import RunnerError

REPO = "PERSONABench/PERSONA-Bench"
FILE = "Raw_Data_Postized.json"
BRANCH = "main"
# The commit of the published file is not known to us, so a first fetch asks for what the branch stands at. What pins
# the content is the digest, as others reported it for the 179,988,294 bytes of 2025; we could not verify it.
SHA256 = "59cea85862f6779f90dc905d7f4691b83b5521bc9234e9859b054d99645a609e"

TERMS = (
    "PersonaConvBench is made of Reddit posts and comments by real people. Its authors offer it for research use "
    "only, under Reddit's terms; do not publish the texts, and do not try to find out who wrote them."
)


@dataclass(frozen=True)
class Pin:
    """What the file has to be. ``revision`` is a commit, or a branch; ``sha256`` None takes what is there."""

    revision: str
    sha256: str | None


def fetch(folder: Path, revision: str | None = None) -> Path:
    """Download the published file (180 MB) into ``folder`` and return its path; a download cut off is resumed.

    Without ``revision`` it must have the digest that is pinned: by the record of an earlier fetch, in
    ``<file>.source`` beside it, with its commit, else by ``SHA256``. Another revision is taken as it is, and recorded.
    ``HF_ENDPOINT`` and the hub's other variables hold. Raises RunnerError when the hub cannot be reached or does not
    have it, and where the file is another one: that is not kept.
    """
    path, record = folder / FILE, folder / f"{FILE}.source"
    pin = Pin(revision, None) if revision else _recorded(record) or Pin(BRANCH, SHA256)
    if path.exists() and pin.sha256 is not None:
        if digest_of(path) == pin.sha256:
            _tell(f"{path.name} is there already, and is the pinned file (sha256 {pin.sha256[:12]}…).")
            return path
        raise RunnerError(f"{path} is not the pinned file (sha256 {pin.sha256[:12]}…): move it away to fetch it again.")
    commit, got = _download(folder, pin)
    digest = digest_of(got)
    if digest != (pin.sha256 or digest):
        got.unlink()
        raise _other_file(commit, digest, pin)
    got.replace(path)
    record.write_bytes(orjson.dumps({"repository": REPO, **asdict(Pin(commit, digest))}, option=orjson.OPT_INDENT_2))
    known = "the known file" if digest == SHA256 else "not the file that is known: look at its card"
    _tell(f"{REPO} at commit {commit}: {known} (sha256 {digest[:12]}…); both are recorded in {record.name}.")
    return path


def digest_of(path: Path) -> str:
    """The file's sha256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(folder: Path, pin: Pin) -> tuple[str, Path]:
    """The commit and the file, beside the folder's own; a file that says beforehand that it is another is not got."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # of whichever httpx it uses

    try:
        found = get_hf_file_metadata(hf_hub_url(REPO, FILE, repo_type="dataset", revision=pin.revision))
        commit = found.commit_hash or pin.revision
        is_digest = found.etag is not None and len(found.etag) == len(SHA256)
        if pin.sha256 and found.etag and is_digest and found.etag != pin.sha256:
            raise _other_file(commit, found.etag, pin)
        return commit, Path(
            hf_hub_download(REPO, FILE, repo_type="dataset", revision=commit, local_dir=folder / ".download")
        )
    except (HTTPError, OSError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise RunnerError(
            f"{FILE} of {REPO} at {pin.revision} could not be downloaded ({reason}): check the network and "
            "HF_ENDPOINT, or download it elsewhere and name the file.",
            code="download_failed",
            exit_code=1,
        ) from error


def _other_file(commit: str, digest: str, pin: Pin) -> RunnerError:
    return RunnerError(
        f"{FILE} of {REPO} at commit {commit} is not the pinned file: its sha256 is {digest}, and not {pin.sha256}. It "
        f"was not kept; `persona-runner data fetch --revision {commit}` takes it as it is.",
        code="other_file",
        exit_code=1,
    )


def _recorded(record: Path) -> Pin | None:
    if not record.exists():
        return None
    try:
        said = orjson.loads(record.read_bytes())
        return Pin(said["revision"], said["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunnerError(f"{record} cannot be read ({error}): delete it, and fetch again.") from error


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr)
