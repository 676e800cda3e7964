#!/usr/bin/env bash
# Makes GitHub's release of a tag of the files in a folder, by gh, which has to be logged in. The release appears whole:
# it is a draft until all files are there, and a draft that an earlier attempt left is made anew. One that is out is
# never changed.
# usage: ci/publish.sh TAG FOLDER
set -eu
tag=${1:?usage: ci/publish.sh TAG FOLDER} folder=${2:?usage: ci/publish.sh TAG FOLDER}
command -v gh >/dev/null || { echo "error: gh is not on PATH; fix: install it, https://cli.github.com, and log in" >&2; exit 1; }

notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
python3 ci/notes.py "$tag" >"$notes"
(cd "$folder" && sha256sum --quiet --check SHA256SUMS)
if development=$(cd "$folder" && ls | grep --max-count 1 -E '\+.*\.dev[0-9a-f]{7}\.'); then
	echo "error: $folder/$development: is a development build" >&2
	echo '    fix: npu-overlays revise --all --why "…", then make release' >&2
	exit 1
fi

state=$(gh release view "$tag" --json isDraft --jq .isDraft 2>/dev/null || true)
case $state in
false)
	echo "error: the release $tag is out, and stays as it is" >&2
	echo "    fix: raise the version in pyproject.toml, and tag that" >&2
	exit 1
	;;
true) gh release delete "$tag" --yes ;;
esac
gh release create "$tag" --draft --verify-tag --title "$tag" --notes-file "$notes" "$folder"/*
gh release edit "$tag" --draft=false
