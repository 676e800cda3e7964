#!/usr/bin/env bash
# Runs a command as on a machine that is new and reaches package indexes only: an empty home, no configuration of
# git's, caches of its own, and no repository host. What the machine's Pythons and its index are stays as it is: the
# search path, pip's configuration, and the caches of pip and uv, without which the index is asked for gigabytes every
# time.
# Prints nothing; exits as the command does.
set -eu
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
mkdir "$new/home"

for file in "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" "$HOME/.pip/pip.conf"; do
	if [ -z "${PIP_CONFIG_FILE-}" ] && [ -f "$file" ]; then export PIP_CONFIG_FILE="$file"; fi
done
export PIP_CACHE_DIR="${PIP_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pip}"
uv_cache="${UV_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/uv}"
export PYENV_ROOT="${PYENV_ROOT:-$HOME/.pyenv}"

for name in "${!GIT_@}" "${!XDG_@}" "${!NPU_OVERLAYS_@}" "${!UV_@}" "${!HF_@}" "${!PYTHON@}"; do unset "$name"; done
export HOME="$new/home" UV_CACHE_DIR="$uv_cache"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
# Not https and not ssh, over which repositories are fetched; the others are spoken with servers of the tests' own.
export GIT_ALLOW_PROTOCOL=file:git:http

"$@"
