#!/bin/sh
# What the tests need of the system: a browser (Chromium), WordNet, LaTeX. Debian's packages where we may install them.
set -eu
missing=""
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing="chromium"
[ -e /usr/share/wordnet/data.noun ] || missing="$missing wordnet-base"
kpsewhich booktabs.sty >/dev/null 2>&1 || missing="$missing texlive-latex-recommended"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Debian's $missing for the tests …"
  apt-get update -qq
  # shellcheck disable=SC2086 # one word each
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
  echo "The tests use a browser, WordNet and LaTeX; missing here: $missing (sudo apt-get install $missing)." >&2
fi
