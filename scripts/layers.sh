#!/bin/sh
# layers.sh -- every #include of a source file of ours -> an error where it points downward in the pipeline. Also: no word of CUDA's
# API outside runtime/ (and the text that codegen/ emits), and the tool sees the library through its public header alone.
set -u
order="include base ops lexer parser ir codegen runtime formats tool"
failed=0

place() {
	n=0
	for room in $order; do
		n=$((n + 1))
		[ "$room" = "$1" ] && echo $n && return
	done
	echo 0
}
complain() {
	echo "FAIL layers: $1"
	failed=1
}

for room in $order; do
	here=$(place "$room")
	for line in $(grep -Hno '^#include "[^"]*"' "$room"/*.[chy] "$room"/*.re 2>/dev/null | sed 's/#include "\(.*\)"/\1/; s/ //g'); do
		from=${line%:*} to=${line##*:}
		case $to in
		*/*) ;;
		*) complain "$from includes \"$to\" without its folder"; continue ;;
		esac
		[ "$to" = parser/grammar.h ] && [ "$room" = lexer ] && continue   # made by lemon: the numbers of the tokens
		there=$(place "${to%%/*}")
		if [ "$there" = 0 ]; then
			complain "$from includes $to, which is in no room of the house"
		elif [ "$there" -gt "$here" ]; then
			complain "$from includes $to, which is further down the pipeline"
		fi
		case $room in
		formats | tool)
			case $to in
			include/* | base/* | formats/* | tool/*) ;;
			*) complain "$from includes $to: formats/ and tool/ use include/, base/ and formats/ only" ;;
			esac ;;
		esac
	done
done
for line in $(grep -nE '\b(CU(result|device|context|module|function|stream|deviceptr)|nvrtc(Result|Program))\b' include/*.h base/*.[ch] ops/*.[ch] \
	lexer/*.[ch] parser/*.[ch] ir/*.[ch] codegen/*.[ch] formats/*.[ch] tool/*.[ch] | grep -v 'gpuexpr.h.*CUstream' | cut -d: -f1,2); do
	complain "$line names a type of CUDA outside runtime/"
done
[ $failed = 0 ] && echo "ok layers"
exit $failed
