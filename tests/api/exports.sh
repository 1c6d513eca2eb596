#!/bin/sh
# exports.sh LIBRARY -- the shared library shows gx_* and nothing else, and all that the header declares.
lib=$1
passed=0
failed=0
say() { if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $2"; fi; }

shown=$(nm -D --defined-only "$lib" | awk '{print $3}' | sed 's/@.*//' | sort -u)
other=$(echo "$shown" | grep -v '^gx_' | grep -v '^GPUEXPR_\|^libgpuexpr')
[ -z "$other" ]; say $? "other symbols: $other"
for f in $(sed -n 's/^GX_API .*[ *]\(gx_[a-z_0-9]*\)(.*/\1/p' include/gpuexpr.h); do
	echo "$shown" | grep -qx "$f"; say $? "$f is declared but not exported"
done
declared=$(grep -c '^GX_API' include/gpuexpr.h)
[ "$(echo "$shown" | grep -c '^gx_')" = "$declared" ]; say $? "exported functions and declarations differ in number ($declared declared)"
readelf -d "$lib" | grep -q 'SONAME.*libgpuexpr.so.0'; say $? "the SONAME"
! readelf -d "$lib" | grep -q 'NEEDED.*\(cuda\|nvrtc\)'; say $? "CUDA is not needed to load it"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
