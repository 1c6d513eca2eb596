#!/bin/sh
# install.sh MAKE CC CXX BUILD -- installs into empty folders and uses what lies there as a packager and a user do: the list of files,
# SONAME, exported names, no search path left in, pkg-config, a program built against it, uninstall; what is said where re2c is missing.
set -u
make=$1 cc=$2 cxx=$3 build=$4
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpuexpr install.XXXXXX")
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

check() {
	name=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		echo "ok $name"
		passed=$((passed + 1))
	else
		echo "FAIL $name"
		sed 's/^/# /' "$dir/log"
		failed=$((failed + 1))
	fi
}
skip() {
	echo "skip $1"
	skipped=$((skipped + 1))
}
same() { [ "$1" = "$2" ] || { printf 'got:\n%s\nwant:\n%s\n' "$1" "$2"; return 1; }; }

WANT="./usr/bin/gpuexpr
./usr/include/gpuexpr.h
./usr/lib64/libgpuexpr.a
./usr/lib64/libgpuexpr.so
./usr/lib64/libgpuexpr.so.0
./usr/lib64/pkgconfig/gpuexpr.pc"
check "install with DESTDIR, PREFIX and LIBDIR" $make -s install DESTDIR="$dir/stage" PREFIX=/usr LIBDIR=/usr/lib64
check "its files, no others" same "$(cd "$dir/stage" && find . ! -type d | LC_ALL=C sort)" "$WANT"
check "the .pc file names the final place" grep -q '^libdir=/usr/lib64$' "$dir/stage/usr/lib64/pkgconfig/gpuexpr.pc"
check "with the build folder on PATH, too" env PATH="$build:$PATH" $make -s install DESTDIR="$dir/path" PREFIX=/usr
check "uninstall" $make -s uninstall DESTDIR="$dir/stage" PREFIX=/usr LIBDIR=/usr/lib64
check "uninstall leaves no file" same "$(find "$dir/stage" ! -type d)" ""

P="$dir/prefix"
check "install with PREFIX alone" $make -s install DESTDIR= PREFIX="$P"
if command -v readelf >/dev/null; then
	check "SONAME" same "$(readelf -d "$P/lib/libgpuexpr.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libgpuexpr.so.0
	check "no search path in the installed files" same "$(readelf -d "$P/lib/libgpuexpr.so" "$P/bin/gpuexpr" | grep -c 'RUNPATH\|RPATH')" 0
	check "nothing of CUDA is linked" same "$(readelf -d "$P/lib/libgpuexpr.so" "$P/bin/gpuexpr" | grep -ci 'NEEDED.*\(cuda\|nvrtc\)')" 0
else
	skip "readelf is not here: SONAME, search path"
fi
check "the tool runs in its new place" same "$("$P/bin/gpuexpr" --device=cpu 'sum(arange(10))')" 45

export LD_LIBRARY_PATH="$P/lib" PKG_CONFIG_PATH="$P/lib/pkgconfig"
if command -v pkg-config >/dev/null; then
	flags=$(pkg-config --cflags --libs gpuexpr)
	check "pkg-config --modversion" same "$(pkg-config --modversion gpuexpr)" "$("$P/bin/gpuexpr" --version | sed -n '1s/^gpuexpr \([^ ]*\).*/\1/p')"
	build() { eval "$1 examples/embed.c -o \"$dir/embed\" $flags"; }
	check "a C program by pkg-config" build "$cc -std=c99"
	check "it runs" sh -c '"$1" | grep -q "c\[1\]"' - "$dir/embed"
	flags=$(pkg-config --static --cflags --libs gpuexpr | sed 's/-lgpuexpr/-l:libgpuexpr.a/')
	check "the same, linked statically" build "$cc"
	check "it runs without the shared library" env LD_LIBRARY_PATH= "$dir/embed"
	flags="-xnone $(pkg-config --cflags --libs gpuexpr)"
	check "the header in C++" sh -c 'echo "#include <gpuexpr.h>
int main() { return gx_version() == nullptr; }" >"$1/v.cc" && eval "$2 \"$1/v.cc\" -o \"$1/v\" $3" && "$1/v"' - "$dir" "$cxx" "$flags"
else
	skip "pkg-config is not here: programs built against the installed library"
fi
for tool in re2c:lexer/lex.c lemon:parser/grammar.c; do
	said=$(PATH=/nowhere "$(command -v "$make")" -s B="$build/none" "$build/none/${tool#*:}" 2>&1)
	check "without ${tool%:*} make points to ./bootstrap" sh -c 'case $1 in *": ${2%:*} is missing; ./bootstrap "*) ;; *) echo "$1"; exit 1 ;; esac' - "$said" $tool
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
