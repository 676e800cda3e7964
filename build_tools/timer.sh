#!/bin/sh
# Runs a command that prints nothing for seconds. On a terminal a line counts the seconds meanwhile, and is gone at the
# end; elsewhere nothing is added. The exit code is the command's.
if [ -t 1 ]; then
	(
		seconds=0
		while sleep 1; do
			seconds=$((seconds + 1))
			printf '  %s s\r' "$seconds"
		done
	) &
	counter=$!
	trap 'kill "$counter" 2>/dev/null; printf "\033[K"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
fi
"$@"
