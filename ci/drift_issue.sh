#!/usr/bin/env bash
# Puts the report of `make drift` into the one open issue with the label drift, by gh, which has to be logged in; opens
# one where there is none.
# usage: ci/drift_issue.sh FOLDER
set -eu
report=${1:?usage: ci/drift_issue.sh FOLDER}/report.md
test -s "$report" || { echo "error: $report: missing or empty; fix: make drift" >&2; exit 1; }
command -v gh >/dev/null || { echo "error: gh is not on PATH; fix: install it, https://cli.github.com, and log in" >&2; exit 1; }

gh label create drift --description "How far the overlays are from upstream's head" --force
number=$(gh issue list --label drift --state open --limit 1 --json number --jq '.[].number')
if [ -n "$number" ]; then
	gh issue edit "$number" --body-file "$report"
else
	gh issue create --title "Drift from upstream" --label drift --body-file "$report"
fi
