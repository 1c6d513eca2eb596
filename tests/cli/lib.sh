#!/bin/sh
# lib.sh -- what the tests of the shell tool share. Each file is run as `sh tests/cli/NAME.sh path/to/gpuexpr` and gets a folder and an
# environment of its own. `gx ARGS` runs the tool and leaves $out $err (texts) and $code; the checks look at those:
#	prints NAME WANT ARGS...         exit 0, exactly WANT on standard output, nothing on standard error
#	quiet NAME ARGS...               exit 0, nothing on either
#	fails NAME CODE PART ARGS...     exit CODE, nothing on standard output, PART (a glob) in what standard error says
#	check NAME COMMAND...            the command ends well; what it printed is shown when it does not
# Standard input of all of them is what the caller redirects.
set -u
here=$(cd "$(dirname "$0")" && pwd)
exe=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
suite=$(basename "$0" .sh)
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuexpr-cli.XXXXXX") || exit 1
log=$dir/log
passed=0 failed=0 skipped=0
at_exit() { :; }
trap 'at_exit; chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP

for v in $(env | sed -n 's/^\(GPUEXPR_[A-Z_]*\|LC_[A-Z]*\|LANG\|LANGUAGE\|NO_COLOR\|XDG_CACHE_HOME\)=.*/\1/p'); do
	unset "$v"
done
mkdir "$dir/home" "$dir/work" "$log"
HOME=$dir/home GPUEXPR_CACHE_DIR=$dir/cache LC_ALL=C
export HOME GPUEXPR_CACHE_DIR LC_ALL
cd "$dir/work" || exit 1

good() {
	echo "ok $suite: $1"
	passed=$((passed + 1))
}
bad() {
	echo "FAIL $suite: $1: $2"
	failed=$((failed + 1))
}
skip() {
	echo "skip $suite: $1: $2"
	skipped=$((skipped + 1))
}
end() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ]
	exit
}

gx() {
	"$exe" "$@" >"$log/out" 2>"$log/err"
	code=$?
	out=$(cat "$log/out") err=$(cat "$log/err")
}
ended() { printf 'exit code %s, standard output "%.300s", standard error "%.600s"' "$code" "$out" "$err"; }

prints() {
	name=$1 want=$2
	shift 2
	gx "$@"
	if [ "$code" = 0 ] && [ "$out" = "$want" ] && [ -z "$err" ]; then good "$name"; else bad "$name" "$(ended); wanted \"$want\""; fi
}
quiet() {
	name=$1
	shift
	prints "$name" '' "$@"
}
fails() {
	name=$1 want=$2 part=$3
	shift 3
	gx "$@"
	case $err in
	*$part*) [ "$code" = "$want" ] && [ ! -s "$log/out" ] && good "$name" && return ;;
	esac
	bad "$name" "$(ended); wanted exit code $want and *$part*"
}
check() {
	name=$1
	shift
	if "$@" >"$log/check" 2>&1; then good "$name"; else bad "$name" "status $?: $(head -c 600 "$log/check")"; fi
}

same() { [ "$1" = "$2" ] || { printf 'got "%s", wanted "%s"\n' "$1" "$2"; return 1; }; }
like() {   # like TEXT GLOB
	case $1 in
	$2) ;;
	*) printf '"%s" is not like "%s"\n' "$1" "$2"; return 1 ;;
	esac
}
unlike() { ! like "$@" >/dev/null || { printf '"%s" should not be like "%s"\n' "$1" "$2"; return 1; }; }
missing() { [ ! -e "$1" ] && [ ! -L "$1" ] || { echo "$1 is there"; return 1; }; }
files() { same "$(LC_ALL=C ls -A "$1" | tr '\n' ' ')" "$2"; }   # the names in a folder, each followed by a space
hex() { od -An -v -tx1 | tr -d ' \n'; }

# The bytes of an .npy file: DESCR, SHAPE as Python writes it, then its data in hexadecimal.
npy_is() { same "$(head -c 8 "$1" | hex) $(npy_field "$1") $(tail -c +129 "$1" | hex)" "934e554d50590100 {'descr': '$2', 'fortran_order': False, 'shape': $3, } $4"; }
npy_field() { head -c 128 "$1" | tail -c +11 | sed 's/ *$//'; }
# npy FILE HEADER DATA: an .npy file of that header text and that data (both for printf %b), as a writer other than gpuexpr might make it.
npy() {
	{ printf '\223NUMPY\001\000'; printf '\\%03o\\%03o' $((${#2} + 1 & 255)) $((${#2} + 1 >> 8)) | { read -r l; printf "$l"; }
	printf '%s\n' "$2"; printf "$3"; } >"$1"
}

python=$(command -v python3) && "$python" -c 'import json' 2>/dev/null || python=
root=$(id -u)
# Is there a GPU that the tool can use? Asked once for all files of a run.
has_gpu() {
	[ -n "${GX_TEST_GPU:-}" ] || { "$exe" --device=cuda -q 1 >/dev/null 2>&1 && GX_TEST_GPU=yes || GX_TEST_GPU=no; }
	[ $GX_TEST_GPU = yes ]
}
# Can a command be run at a terminal of its own, by script(1)? Where not, why_not says what was tried.
has_terminal() {
	command -v script >/dev/null || { why_not='no script(1)'; return 1; }
	why_not="script(1) gives no terminal here: $(script -qec 'test -t 1 && echo a terminal' /dev/null </dev/null 2>&1 | tr -d '\r\n')"
	[ "$why_not" = 'script(1) gives no terminal here: a terminal' ]
}
# From here on $exe runs without root's rights, who may write everywhere; `exe=$privileged` ends it. 1: it cannot be done here.
without_root() {
	privileged=$exe
	[ "$root" = 0 ] || return 0
	chmod 1777 "$dir" "$dir/work" "$log"
	exe=$log/as_nobody
	printf '#!/bin/sh\nexec setpriv --reuid=65534 --clear-groups "%s" "$@"\n' "$privileged" >"$exe"
	chmod 755 "$exe"
	"$exe" 1 >/dev/null 2>&1 || { exe=$privileged; return 1; }
}
