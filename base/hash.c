/* hash.c -- multiply-and-fold hash over 8-byte words (the product of two 64-bit words folded to 64 bits, as in wyhash
 * and its relatives), with a final avalanche. */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide p = (wide)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ fold(n + 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		h = fold(h ^ w ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu);
	}
	if (n) {
		uint64_t w = 0;

		memcpy(&w, p, n);
		h = fold(h ^ w ^ 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u);
	}
	return fold(h ^ 0x1d8e4e27c47d124fu, 0xeb44accab455d165u);
}

void hash_name(const void *data, size_t n, char name[33])
{
	snprintf(name, 33, "%016llx%016llx", (unsigned long long)hash_bytes(data, n, 0x243f6a8885a308d3u),
		(unsigned long long)hash_bytes(data, n, 0x13198a2e03707344u));
}
