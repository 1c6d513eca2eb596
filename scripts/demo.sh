#!/bin/sh
# demo.sh GPUEXPR FOLDER -- sample arrays a.npy and b.npy in FOLDER -> c = a*b + sin(a), on the GPU if there is one, else on the CPU;
# then three more lines a newcomer may want to see. Every command is shown before it runs.
set -eu
exe=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
rm -rf "$2"
mkdir -p "$2"
cd "$2"

run() {
	echo
	printf '$ gpuexpr'
	for word; do
		case $word in
		*[!A-Za-z0-9_.,=/-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	echo
	"$exe" "$@"
}

device=cpu
if "$exe" --device=cuda -q '1' >/dev/null 2>&1; then
	device=cuda
	echo "This machine has a GPU that gpuexpr can use; the demo runs there (--device=auto, the default, takes it only when it pays)."
else
	echo "No GPU that gpuexpr can use (gpuexpr --doctor says why); the demo runs on the CPU engine."
fi
echo "Folder: $PWD"

run 'a = f32(linspace(0, 6, 1000000)); b = cos(a)'
run --device=$device --time 'c = a*b + sin(a)'
run c
run 'mean(c); std(c)'
run --device=$device --explain 'm = mean(c); s = std(c)'
