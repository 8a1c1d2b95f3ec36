"""The published file, from the Hugging Face hub."""

from __future__ import annotations

import sys
from pathlib import Path

from runner.errors import RunnerError

REPO = "PERSONABench/PERSONA-Bench"
FILE = "Raw_Data_Postized.json"
REVISION = "main"
# The repository's commit of the published file is not known to us, so the branch is asked for and the commit that
# it stood at is printed. What pins the content is the file's own hash, as others reported it for the 179,988,294
# bytes of 2025; we could not verify it.
KNOWN_SHA256 = "59cea85862f6779f90dc905d7f4691b83b5521bc9234e9859b054d99645a609e"

TERMS = (
    "PersonaConvBench is made of Reddit posts and comments by real people. Its authors offer it for research use "
    "only, under Reddit's terms; do not publish the texts, and do not try to find out who wrote them."
)


def fetch(folder: Path, revision: str = REVISION) -> Path:
    """Download the published file (180 MB) into ``folder`` and return its path; a download cut off is resumed.

    ``HF_ENDPOINT`` and the hub's other variables hold. Says on stderr which commit was got, and whether the file
    is the one known. Raises RunnerError when the hub cannot be reached or does not have it.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # of whichever httpx it uses

    try:
        url = hf_hub_url(REPO, FILE, repo_type="dataset", revision=revision)
        found = get_hf_file_metadata(url)
        commit = found.commit_hash or revision
        got = hf_hub_download(REPO, FILE, repo_type="dataset", revision=commit, local_dir=folder)
    except (HTTPError, OSError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise RunnerError(
            f"{FILE} of {REPO} at {revision} could not be downloaded ({reason}): check the network and "
            "HF_ENDPOINT, or download it elsewhere and name the file.",
            code="download_failed",
            exit_code=1,
        ) from error
    known = "the known file" if found.etag == KNOWN_SHA256 else "not the file that is known: look at its card"
    print(f"{REPO} at commit {commit}: {known}", file=sys.stderr)
    return Path(got)
