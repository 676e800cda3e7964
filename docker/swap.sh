#!/usr/bin/env bash
# Exchanges upstream's verl and transformers for ours in the environment of a Python, without any network, and shows
# that what is there now is what was built. Nothing else of the environment changes.
# usage: swap.sh FOLDER STACK
#   FOLDER  wheels as `npu-overlays build` writes them: ours, their companions, npu-doctor, constraints-STACK.txt
#   STACK   the stack that fits the image: verl-0.7.1
#   PYTHON  (variable) the Python of the environment; python3 where it is not set
#   DOCTOR  (variable) strict: fail where npu-doctor finds something broken. A build of an image has no devices, which
#           the doctor calls broken; what it says is printed in any case
# exit codes: 0 exchanged and whole; 1 not; 2 wrong usage, or FOLDER lacks something
set -euo pipefail
if [ $# -ne 2 ]; then
	echo "usage: swap.sh FOLDER STACK" >&2
	exit 2
fi
folder=$1 stack=$2
python=${PYTHON:-python3}
constraints=$folder/constraints-$stack.txt

fail() {
	printf 'error: %s\n    fix: %s\n' "$1" "$2" >&2
	exit 2
}

test -f "$constraints" ||
	fail "$constraints: there is no such file" "npu-overlays build --stack $stack --out $folder"
# Below the name of each overlay stands its wheel, and then its companion.
pins() { awk -v which="$1" '/^#/ { ours = /^# of [^ ]+@[^ ]+:$/; n = 0; next } ours && ++n == which' "$constraints"; }
mapfile -t wheels < <(pins 1)
mapfile -t companions < <(pins 2)
test "${#wheels[@]}" -gt 0 || fail "$constraints: names no wheels of ours" "npu-overlays build --stack $stack --out $folder"
if grep -q '^# not built beside this file' "$constraints"; then
	fail "$constraints: not all wheels of the stack lie beside it" "npu-overlays build --stack $stack --out $folder"
fi
# Nothing is exchanged where what comes last is missing.
compgen -G "$folder/npu_doctor-*.whl" > /dev/null ||
	fail "$folder: has no wheel of npu-doctor" "pip wheel --no-deps --wheel-dir $folder ./build_tools"

install() { "$python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$folder" "$@"; }
# The companions first: they take upstream's copy away, which would otherwise take our files with it.
install --no-deps --upgrade "${companions[@]}"
install --no-deps --upgrade "${wheels[@]}"
install --upgrade npu-doctor

summary=${wheels[-1]%%==*}
"$python" -I -m "${summary//-/_}_summary" --verify
"$python" -I -m npu_doctor --no-import --stack "$stack" || test "${DOCTOR:-}" != strict
