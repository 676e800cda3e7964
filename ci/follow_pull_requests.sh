#!/usr/bin/env bash
# Opens a pull request for each port of `make follow` that has none yet, with its report as the text: the branch
# follow/PROJECT@VERSION holds the port's overlays. Uses gh, which has to be logged in, and a checkout that may push.
# A pull request that was closed is not opened again. Nothing is merged.
# usage: ci/follow_pull_requests.sh FOLDER
set -eu
folder=${1:?usage: ci/follow_pull_requests.sh FOLDER}
command -v gh >/dev/null || { echo "error: gh is not on PATH; fix: install it, https://cli.github.com, and log in" >&2; exit 1; }
base=$(git rev-parse HEAD)
for report in "$folder"/*@*/report.md; do
	test -s "$report" || { echo "no newer release: nothing to open" >&2; exit 0; }
	port=$(dirname "$report")
	name=$(basename "$port")
	branch="follow/$name"
	if [ -n "$(gh pr list --head "$branch" --state all --json number --jq '.[].number')" ]; then
		echo "$name: has a pull request" >&2
		continue
	fi
	git switch --quiet --force-create "$branch" "$base"
	cp -R "$port/overlays/." overlays/
	git add --all overlays
	if git diff --cached --quiet; then
		echo "$name: could not be started, so there is nothing to review; $report says why" >&2
		continue
	fi
	git commit --quiet --message "Port to $name"
	git -c credential.helper='!gh auth git-credential' push --quiet --force origin "$branch"
	gh pr create --head "$branch" --title "Port to $name" --body-file "$report"
done
git switch --quiet --detach "$base"
