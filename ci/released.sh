#!/usr/bin/env bash
# Fetches the wheels, source distributions and statements of all releases that are out, by gh, into a folder each.
# They go onto the index beside what is new: whoever has pinned one of them finds it there as before.
# usage: ci/released.sh FOLDER
set -eu
folder=${1:?usage: ci/released.sh FOLDER}
command -v gh >/dev/null || { echo "error: gh is not on PATH; fix: install it, https://cli.github.com, and log in" >&2; exit 1; }

mkdir -p "$folder"
gh release list --exclude-drafts --limit 1000 --json tagName --jq '.[].tagName' >"$folder/.tags"
while read -r tag; do
	gh release download "$tag" --dir "$folder/$tag" --skip-existing \
		--pattern '*.whl' --pattern '*.tar.gz' --pattern '*.intoto.json'
done <"$folder/.tags"
