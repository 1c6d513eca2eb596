/* formats.c -- tests of reading (formats/): .npy headers good and bad, .npz, raw, text tables, numbers and their text; every prefix and
 * many one-byte changes of some files. Files are made here byte by byte, so that nothing is read by the code that wrote it.
 * As a driver for tests/numpy/formats.py: `formats copy SPEC OUT` reads and writes, `formats text TYPE` prints raw elements. */
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fault.h"
#include "formats/format.h"

static int passed, failed, skipped;

static void check(int good, const char *name, const char *why)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	good ? passed++ : failed++;
}

static void put(const char *name, const void *data, size_t n)
{
	FILE *f = fopen(name, "wb");

	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		abort();
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

/* An .npy file: version, dict as it stands, data. Gives its length. */
static size_t npy(unsigned char *to, int version, const char *dict, const void *data, size_t n)
{
	size_t len = strlen(dict), at = version > 1 ? 12 : 10;

	memcpy(to, "\x93NUMPY", 6);
	to[6] = (unsigned char)version;
	to[7] = 0;
	for (size_t i = 8; i < at; i++)
		to[i] = (unsigned char)(len >> 8 * (i - 8));
	memcpy(to + at, dict, len);
	if (n)
		memcpy(to + at + len, data, n);
	return at + len + n;
}

static void put_npy(const char *name, int version, const char *dict, const void *data, size_t n)
{
	unsigned char *b = malloc(strlen(dict) + n + 12);

	put(name, b, npy(b, version, dict, data, n));
	free(b);
}

/* "float64 (2, 3) stride (3, 1): 1.0 2.0 ..." of the elements in C order, at most 8; or "STATUS sentence". */
static const char *describe(const char *spec)
{
	static char text[3000];
	struct file_array a;
	gx_error err = {0};
	gx_status s = file_read(spec, &a, &err);
	int64_t count = 1;
	int k, shown;

	if (s) {
		snprintf(text, sizeof text, "%d %s", (int)s, err.message);
		if (a.owner || a.data || strcmp(err.message, err.text) != 0 || err.status != s)
			strcat(text, " [and the error record or the array is not clean]");
		return text;
	}
	k = sprintf(text, "%s (", gx_dtype_name(a.dtype));
	for (int i = 0; i < a.rank; i++) {
		k += sprintf(text + k, "%s%lld/%lld", i ? " " : "", (long long)a.shape[i], (long long)a.stride[i]);
		count = a.shape[i] == 0 || count == 0 ? 0 : count * a.shape[i];
	}
	k += sprintf(text + k, "):");
	shown = count < 8 ? (int)count : 8;
	for (int e = 0; e < shown; e++) {
		int64_t left = e, at = 0;

		for (int i = a.rank - 1; i >= 0; i--) {
			at += left % a.shape[i] * a.stride[i];
			left /= a.shape[i];
		}
		text[k++] = ' ';
		k += element_text(a.dtype, (char *)a.data + at * (int64_t)gx_dtype_size(a.dtype), text + k);
	}
	if ((uint64_t)count * gx_dtype_size(a.dtype) != a.bytes || (uintptr_t)a.data % gx_dtype_size(a.dtype))
		strcpy(text + k, " [bytes or alignment wrong]");
	file_array_free(&a);
	return text;
}

static void expect(const char *name, const char *spec, const char *want)
{
	const char *got = describe(spec);

	if (strcmp(got, want) == 0) {
		check(1, name, "");
		return;
	}
	failed++;
	printf("FAIL %s: wanted\n\t%s\n\tgot\n\t%s\n", name, want, got);
}

static const double some[] = {1, 2, 3, 4, 5, 6};

struct npy_case { const char *name; int version; const char *dict; size_t bytes; const char *want; };

static const struct npy_case good[] = {
	{"c order", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", 48, "float64 (2/3 3/1): 1.0 2.0 3.0 4.0 5.0 6.0"},
	{"fortran order", 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n", 48,
		"float64 (2/1 3/2): 1.0 3.0 5.0 2.0 4.0 6.0"},
	{"version 2", 2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }  \n", 16, "float64 (2/1): 1.0 2.0"},
	{"version 3", 3, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }  \n", 16, "float64 (2/1): 1.0 2.0"},
	{"any order, spaces, quotes", 1, " { \"shape\" :( 2 , ) ,\t'fortran_order':False , \"descr\" : \"<f8\" } ", 16, "float64 (2/1): 1.0 2.0"},
	{"python 2 longs", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 1L), }\n", 16, "float64 (2/1 1/1): 1.0 2.0"},
	{"no space at all", 1, "{'descr':'<f8','fortran_order':False,'shape':(2,)}", 16, "float64 (2/1): 1.0 2.0"},
	{"scalar", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", 8, "float64 (): 1.0"},
	{"no elements", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0, 2), }\n", 0, "float32 (3/0 0/0 2/0):"},
	{"no elements, huge", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }\n", 0,
		"float64 (0/0 4294967296/0 4294967296/0):"},
	{"trailing bytes", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", 48, "float64 (2/1): 1.0 2.0"},
	{"native order letter", 1, "{'descr': '=f8', 'fortran_order': False, 'shape': (1,), }\n", 8, "float64 (1/1): 1.0"},
	{"no order letter", 1, "{'descr': 'f8', 'fortran_order': False, 'shape': (1,), }\n", 8, "float64 (1/1): 1.0"},
	{"rank 8", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2), }\n", 16,
		"float64 (1/2 1/2 1/2 1/2 1/2 1/2 1/2 2/1): 1.0 2.0"},
};

#define HEAD "{'descr': '<f8', 'fortran_order': False, 'shape': "
#define TYPE(t) "{'descr': " t ", 'fortran_order': False, 'shape': (1,), }\n"

static const struct npy_case bad[] = {
	{"(2) is no tuple", 1, HEAD "(2), }\n", 16, "12 t.npy: header: shape must be a tuple, found (2); a one-element tuple is written (2,)"},
	{"cut short", 1, HEAD "(4,), }\n", 19, "12 t.npy is truncated: shape (4,) of float64 needs 32 data bytes, found 19"},
	{"2**32+5 elements", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967301,), }\n", 0,
		"12 t.npy is truncated: shape (4294967301,) of uint8 needs 4294967301 data bytes, found 0"},
	{"product 2**64", 1, HEAD "(4294967296, 4294967296), }\n", 8,
		"12 t.npy: shape (4294967296, 4294967296) has more elements than 2**63-1"},
	{"product 2**64 + 4", 1, HEAD "(2, 2, 5, 5581, 8681, 49477, 384773), }\n", 32,
		"12 t.npy: shape (2, 2, 5, 5581, 8681, 49477, 384773) has more elements than 2**63-1"},
	{"bytes 2**64", 1, HEAD "(2305843009213693952,), }\n", 8,
		"12 t.npy: shape (2305843009213693952,) of float64 has more bytes than 2**63-1"},
	{"extent 10**20", 1, HEAD "(99999999999999999999,), }\n", 8, "12 t.npy: shape (99999999999999999999,) has more elements than 2**63-1"},
	{"negative", 1, HEAD "(-1,), }\n", 8, "12 t.npy: header: shape has a negative extent at byte 51, before -1,), }\\x0a"},
	{"boolean extent", 1, HEAD "(True,), }\n", 8,
		"12 t.npy: header: shape must hold whole numbers; found something else at byte 51, before True,), }\\x0a"},
	{"rank 9", 1, HEAD "(1, 1, 1, 1, 1, 1, 1, 1, 1), }\n", 8,
		"5 t.npy has rank 9, shape (1, 1, 1, 1, 1, 1, 1, 1, 1); gpuexpr's limit is rank 8"},
	{"key twice", 1, "{'descr': '<f8', 'descr': '<f4', }", 8, "12 t.npy: header: a key stands there twice at byte 17, before 'descr': '<f"},
	{"unknown key", 1, "{'descr': '<f8', 'x': 1}", 8,
		"12 t.npy: header: an unknown key (only descr, fortran_order and shape are known) at byte 17, before 'x': 1}"},
	{"missing key", 1, "{'descr': '<f8', 'shape': (1,)}", 8, "12 t.npy: header: the key 'fortran_order' is missing"},
	{"order is a word", 1, "{'fortran_order': Falsy}", 0,
		"12 t.npy: header: fortran_order must be True or False; found something else at byte 18, before Falsy}"},
	{"text behind", 1, HEAD "(1,), } x", 8, "12 t.npy: header: text after the closing '}' at byte 58, before x"},
	{"no dict", 1, "[1]\n", 8, "12 t.npy: header: '{' expected at byte 0, before [1]\\x0a"},
	{"empty header", 1, "", 8, "12 t.npy: header: '{' expected at byte 0 (the end)"},
	{"structured", 1, TYPE("[('x', '<f4'), ('y', '<i4')]"), 8, "7 t.npy has a structured dtype (fields x: float32, y: int32), which gpuexpr "
		"does not read; hint: save one field, np.save('t.npy', a['x'])"},
	{"structured, rich", 1, TYPE("[(('t', 'x'), '<f4', (3,)), ('y', [('u', '<i4')])]"), 8, "7 t.npy has a structured dtype (fields x: float32 "
		"array of (3,), y: structured), which gpuexpr does not read; hint: save one field, np.save('t.npy', a['x'])"},
	{"objects", 1, TYPE("'|O'"), 8, "7 t.npy holds Python objects (a pickle, which is never opened: it could run any code) ('|O'), which "
		"gpuexpr does not read; hint: save numbers, np.save(FILE, a.astype('f8'))"},
	{"text", 1, TYPE("'<U4'"), 16, "7 t.npy holds text strings ('<U4'), which gpuexpr does not read; hint: convert them to numbers first"},
	{"dates", 1, TYPE("'<M8[ns]'"), 8, "7 t.npy holds dates (datetime64) ('<M8[ns]'), which gpuexpr does not read; hint: save the ticks, "
		"np.save(FILE, a.astype('i8'))"},
	{"long double", 1, TYPE("'<f16'"), 16, "7 t.npy holds 128-bit long doubles ('<f16'), which gpuexpr does not read; hint: save it as "
		"float64, np.save(FILE, a.astype('f8'))"},
	{"void", 1, TYPE("'|V3'"), 3, "7 t.npy holds raw bytes (void) ('|V3'), which gpuexpr does not read; hint: save a view of a number type, "
		"np.save(FILE, a.view('u1'))"},
	{"bfloat16 without saying so", 1, TYPE("'|V2'"), 2, "7 t.npy holds raw 2-byte elements (void, '|V2'), which is how bfloat16 is saved by "
		"ml_dtypes; hint: if it is bfloat16, add ':bf16' to the file name"},
	{"no type at all", 1, TYPE("'<q9'"), 8, "12 t.npy: header: descr '<q9' is not an element type"},
	{"version 4", 4, HEAD "(1,), }\n", 8, "12 t.npy: format version 4.0 is not known (1.0, 2.0 and 3.0 are)"},
};

static void test_headers(void)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		put_npy("t.npy", good[i].version, good[i].dict, some, good[i].bytes);
		expect(good[i].name, "t.npy", good[i].want);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put_npy("t.npy", bad[i].version, bad[i].dict, some, bad[i].bytes);
		expect(bad[i].name, "t.npy", bad[i].want);
	}
	put("t.npy", "\x93NUMPY\2\0\xf0\xff\xff\xff", 12);
	expect("hostile header length", "t.npy", "12 t.npy: header length 4294967280 exceeds the file size");
	put("t.npy", "\x93NUMPY\1\0\xff\xff{'descr'", 18);
	expect("header length beyond the end", "t.npy", "12 t.npy: header length 65535 exceeds the file size");
	put("t.npy", "\x93NUM", 4);
	expect("four bytes", "t.npy", "12 t.npy is not an .npy file: it begins with '\\x93NUM', not with '\\x93NUMPY'; hint: raw numbers are "
		"named FILE:f32:1024x1024, files of text .csv, .tsv or .txt");
	put("t.npy", "\x93NUMPY\1\0\4", 9);
	expect("nine bytes", "t.npy", "12 t.npy is truncated: it ends within the first 10 bytes, before the header");
	put("t.npy", "", 0);
	expect("empty file", "t.npy", "12 t.npy is empty (0 bytes)");
	expect("missing file", "none.npy", "12 none.npy: no such file");
	expect("control characters in a name", "no\x1b[31m\n.npy", "12 no\\x1b[31m\\x0a.npy: no such file");
	expect("a folder", ".", "12 . is a folder, not a file");
	put("t.npy", "PK\3\4........", 12);
	expect("zip called npy", "t.npy", "12 t.npy is not an .npy file: it looks like a zip archive, as .npz is; hint: name it FILE.npz, and an "
		"array in it FILE.npz:NAME");
}

static void test_types(void)
{
	static const struct { const char *descr, *bytes; size_t n; const char *want; } types[] = {
		{"|b1", "\0\1\2", 3, "bool (3/1): False True True"}, {"|i1", "\xff\x7f\x80", 3, "int8 (3/1): -1 127 -128"},
		{"|u1", "\xff\0\1", 3, "uint8 (3/1): 255 0 1"}, {"<i2", "\1\0\xff\xff\0\x80", 3, "int16 (3/1): 1 -1 -32768"},
		{">i2", "\0\1\xff\xff\x80\0", 3, "int16 (3/1): 1 -1 -32768"}, {"<u2", "\xff\xff", 1, "uint16 (1/1): 65535"},
		{">i4", "\0\0\0\1\xff\xff\xff\xfe", 2, "int32 (2/1): 1 -2"}, {"<u4", "\xff\xff\xff\xff", 1, "uint32 (1/1): 4294967295"},
		{">i8", "\0\0\0\0\0\0\0\1\xff\xff\xff\0\0\0\0\0", 2, "int64 (2/1): 1 -1099511627776"},
		{"<u8", "\xff\xff\xff\xff\xff\xff\xff\xff", 1, "uint64 (1/1): 18446744073709551615"},
		{"<f2", "\0\x3c\0\xc0\1\0\xff\x7b", 4, "float16 (4/1): 1.0 -2.0 6e-08 65500.0"}, {">f2", "\x38\0", 1, "float16 (1/1): 0.5"},
		{">f4", "\x3f\xc0\0\0\xc0\0\0\0", 2, "float32 (2/1): 1.5 -2.0"}, {">f8", "\x3f\xb9\x99\x99\x99\x99\x99\x9a", 1, "float64 (1/1): 0.1"},
		{">c8", "\x3f\x80\0\0\x40\0\0\0", 1, "complex64 (1/1): (1+2j)"},
		{"<c16", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\xbf", 1, "complex128 (1/1): -1j"},
	};
	char dict[100];

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		gx_dtype t = GX_BOOL;
		const char *space = strchr(types[i].want, ' ');
		char name[20];

		snprintf(name, sizeof name, "%.*s", (int)(space - types[i].want), types[i].want);
		gx_dtype_find(name, &t);
		snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }\n", types[i].descr, types[i].n);
		put_npy("t.npy", 1, dict, types[i].bytes, types[i].n * gx_dtype_size(t));
		snprintf(dict, sizeof dict, "type %s", types[i].descr);
		expect(dict, "t.npy", types[i].want);
	}
	put_npy("t.npy", 1, "{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }\n", "\x80\x3f\xcd\x3d", 4);
	expect("bfloat16 when told so", "t.npy:bf16", "bfloat16 (2/1): 1.0 0.1");
	put_npy("t.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "\0\0\0\0", 4);
	expect("bfloat16 that is none", "t.npy:bf16", "7 t.npy holds float32; ':bf16' is for files of raw 2-byte elements ('|V2')");
}

/* Over 1 MiB, where files are mapped: aligned, at an odd place (copied), big-endian (copied and turned). */
static void test_mapped(void)
{
	static const struct { const char *name, *dict; } cases[] = {
		{"mapped", "{'descr': '<u4', 'fortran_order': False, 'shape': (500000,), }\n       "},
		{"mapped, not aligned", "{'descr': '<u4', 'fortran_order': False, 'shape': (500000,), }\n"},
		{"mapped, big-endian", "{'descr': '>u4', 'fortran_order': False, 'shape': (500000,), }\n"},
	};
	uint32_t *v = malloc(500000 * sizeof *v);

	for (uint32_t c = 0; c < 3; c++) {
		struct file_array a;
		gx_error err;
		int right;

		for (uint32_t i = 0; i < 500000; i++)
			v[i] = c == 2 ? __builtin_bswap32(i * 77) : i * 77;
		put_npy("big.npy", 1, cases[c].dict, v, 500000 * sizeof *v);
		right = file_read("big.npy", &a, &err) == GX_OK && (a.owner_bytes > 0) == (c == 0);
		for (uint32_t i = 0; right && i < 500000; i++)
			right = ((uint32_t *)a.data)[i] == i * 77;
		check(right, cases[c].name, "a value is wrong, or it was (not) mapped");
		file_array_free(&a);
	}
	if (truncate("big.npy", 1999999))
		abort();
	expect("mapped, cut short", "big.npy", "12 big.npy is truncated: shape (500000,) of uint32 needs 2000000 data bytes, found 1999926");
	free(v);
}

/* Run with standard input from a pipe that a child fills; it stays open behind the data. */
static void expect_piped(const char *name, const void *data, size_t n, const char *spec, const char *want)
{
	int ends[2], saved = dup(0);
	pid_t child;

	if (pipe(ends))
		abort();
	fflush(stdout);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		for (size_t i = 0; i < n; i += 7)   /* short writes */
			if (write(ends[1], (const char *)data + i, n - i < 7 ? n - i : 7) < 0)
				_exit(1);
		if (!strstr(want, "trunc") && spec[1] != '.')
			pause();
		_exit(0);
	}
	close(ends[1]);
	dup2(ends[0], 0);
	close(ends[0]);
	expect(name, spec, want);
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	dup2(saved, 0);
	close(saved);
}

static void test_streams(void)
{
	unsigned char b[400];
	size_t n = npy(b, 1, good[0].dict, some, 48);
	FILE *f;

	expect_piped("a pipe that stays open", b, n, "-", good[0].want);
	n = npy(b, 1, HEAD "(1000000000000000,), }\n", some, 48);
	expect_piped("a pipe that promises too much", b, n, "-",
		"12 <standard input> is truncated: shape (1000000000000000,) of float64 needs 8000000000000000 data bytes, found 48");
	expect_piped("text on a pipe", "1,2\n3,4\n", 8, "-.csv", "int64 (2/2 2/1): 1 2 3 4");
	n = npy(b, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", "\7\10", 2);
	memcpy(b + n, b, n);
	b[2 * n - 1] = 9;
	put("two.npy", b, 2 * n);
	f = freopen("two.npy", "rb", stdin);
	check(f != NULL, "standard input from a file", "freopen");
	expect("the first of two arrays in one stream", "-", "uint8 (2/1): 7 8");
	expect("the second of two arrays in one stream", "-", "uint8 (2/1): 7 9");
	expect("behind the last array of a stream", "-", "12 <standard input> is empty (0 bytes)");
}

static void test_raw(void)
{
	put("r.raw", "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16);
	put("r:f32:4", "\1\2", 2);
	expect("raw", "r.raw:f32:2x2", "float32 (2/2 2/1): 1.0 2.0 3.0 4.0");
	expect("raw, long name of the type", "r.raw:float32:4", "float32 (4/1): 1.0 2.0 3.0 4.0");
	expect("raw, all of the file", "r.raw:bf16", "bfloat16 (8/1): 0.0 1.0 0.0 2.0 0.0 3.0 0.0 4.0");
	expect("raw, no elements", "r.raw:f32:0", "12 r.raw is longer than its shape says: shape (0,) of float32 needs 0 bytes, found 16");
	expect("raw, too short", "r.raw:f64:3", "12 r.raw is truncated: shape (3,) of float64 needs 24 data bytes, found 16");
	expect("raw, too long", "r.raw:f32:3", "12 r.raw is longer than its shape says: shape (3,) of float32 needs 12 bytes, found 16");
	expect("raw, bad shape", "r.raw:f32:3y", "1 r.raw: a shape is written 1024x1024, whole numbers joined by x");
	expect("raw, x at the end", "r.raw:f32:3x", "1 r.raw: a shape is written 1024x1024, whole numbers joined by x");
	expect("raw, overflow", "r.raw:f64:4294967296x4294967296", "1 r.raw: the shape has more than 2**63-1 bytes");
	expect("raw, extent too great", "r.raw:f64:99999999999999999999", "1 r.raw: the shape has an extent above 2**63-1");
	expect("raw, rank 9", "r.raw:u8:1x1x1x1x1x1x1x1x16", "5 r.raw: a shape has at most 8 extents");
	expect("raw, unknown type", "r.raw:f33:4", "1 r.raw: cannot make sense of ':f33:4' behind the file's name; did you mean `f32`? hint: raw numbers are "
		"named FILE:f32:1024x1024, a member of an .npz FILE.npz:NAME");
	expect("raw, not whole", "r:f32:4:i32", "12 r:f32:4 has 2 bytes, which is no whole number of int32 elements (4 bytes each)");
	expect("a name with colons comes first", "r:f32:4", "12 r:f32:4 is not an .npy file: it begins with '\\x01\\x02', not with "
		"'\\x93NUMPY'; hint: raw numbers are named FILE:f32:1024x1024, files of text .csv, .tsv or .txt");
	put("r.raw", "\7", 1);
	expect("raw scalar", "r.raw:u8:", "uint8 (): 7");
}

static const struct { const char *name, *file, *text, *want; } tables[] = {
	{"integers", "t.csv", "1,2,3\n4,5,6\n", "int64 (2/3 3/1): 1 2 3 4 5 6"},
	{"a float makes all floats", "t.csv", "1,2\n3,4.5\n", "float64 (2/2 2/1): 1.0 2.0 3.0 4.5"},
	{"one column", "t.csv", "1\n2\n3", "int64 (3/1): 1 2 3"},
	{"one row", "t.csv", "1,2,3", "int64 (1/3 3/1): 1 2 3"},
	{"heading", "t.csv", "x,y\n1,2\n", "int64 (1/2 2/1): 1 2"},
	{"quoted heading with lines in it", "t.csv", "\"x\n,\",\"y \"\"z\"\"\"\n1,2\n", "int64 (1/2 2/1): 1 2"},
	{"byte order mark, CRLF", "t.csv", "\xef\xbb\xbf" "a,b\r\n1,2\r\n\r\n3,4\r\n", "int64 (2/2 2/1): 1 2 3 4"},
	{"quoted numbers", "t.csv", "\"1.5\",\" 2 \"\n\"-3\",4\n", "float64 (2/2 2/1): 1.5 2.0 -3.0 4.0"},
	{"blanks are nan", "t.csv", "1,,3\n,5,\n", "float64 (2/3 3/1): 1.0 nan 3.0 nan 5.0 nan"},
	{"comments", "t.csv", "# made by me\n1,2\n  # more\n3,4\n", "int64 (2/2 2/1): 1 2 3 4"},
	{"nan and inf", "t.csv", "nan,inf,-inf,NaN,-Infinity\n", "float64 (1/5 5/1): nan inf -inf nan -inf"},
	{"truths", "t.csv", "True,False\nfalse,TRUE\n", "bool (2/2 2/1): True False False True"},
	{"int64 and beyond", "t.csv", "9223372036854775807\n-9223372036854775808\n", "int64 (2/1): 9223372036854775807 -9223372036854775808"},
	{"beyond int64", "t.csv", "9223372036854775808\n1\n", "float64 (2/1): 9.223372036854776e+18 1.0"},
	{"tabs", "t.tsv", "a\tb\n1\t2\n3\t\n", "float64 (2/2 2/1): 1.0 2.0 3.0 nan"},
	{"white space", "t.txt", "  1.0e+00   2.5e+00\n3.0e+00\t4.0e+00  \n", "float64 (2/2 2/1): 1.0 2.5 3.0 4.0"},
	{"txt with commas", "t.txt", "1, 2\n3, 4\n", "int64 (2/2 2/1): 1 2 3 4"},
	{"word in a row", "t.csv", "1,2\n3,four\n", "12 t.csv: line 2, column 2: 'four' is not a number"},
	{"slip in the first line", "t.csv", "1.0x\n2\n", "12 t.csv: line 1, column 1: '1.0x' is not a number"},
	{"rows of two lengths", "t.csv", "a,b\n1,2\n\n3\n", "12 t.csv: line 4 has 1 column, line 2 has 2"},
	{"semicolons", "t.csv", "1;2\n3;4\n", "12 t.csv: line 1, column 1: '1;2' is not a number; hint: fields are separated by ',' and numbers "
		"have a '.'"},
	{"open quote", "t.csv", "1,\"2\n3,4", "12 t.csv: line 1, column 2: a quote does not end"},
	{"text behind a quote", "t.csv", "1,\"2\"3\n", "12 t.csv: line 1, column 2: text after a closing quote"},
	{"truths among numbers", "t.csv", "1,True\n", "12 t.csv: line 1, column 2: True and False stand among numbers"},
	{"only a heading", "t.csv", "a,b\n", "12 t.csv holds no numbers"},
	{"empty table", "t.csv", "", "12 t.csv is empty (0 bytes)"},
	{"hex is no number", "t.csv", "1\n0x10\n", "12 t.csv: line 2, column 1: '0x10' is not a number"},
	{"escape in a field", "t.csv", "1\n\x1b[2J\n", "12 t.csv: line 2, column 1: '\\x1b[2J' is not a number"},
};

static void test_tables(void)
{
	char *big = malloc(3 << 20);
	size_t n = 0;
	struct file_array a;
	int right;

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		put_text(tables[i].file, tables[i].text);
		expect(tables[i].name, tables[i].file, tables[i].want);
	}
	for (int i = 0; i < 100000; i++)
		n += (size_t)sprintf(big + n, "%d,%d.25\n", i, -i);
	put("big.csv", big, n);
	right = file_read("big.csv", &a, NULL) == GX_OK && a.shape[0] == 100000 && a.shape[1] == 2;
	for (int i = 0; right && i < 100000; i++)
		right = ((double *)a.data)[2 * i] == i && ((double *)a.data)[2 * i + 1] == (i ? -i - 0.25 : 0.25);
	check(right, "a table that is mapped", "a value is wrong");
	file_array_free(&a);
	free(big);
}

/* A zip archive of members, as it should be; then the tests spoil it. */
struct zip { unsigned char b[4000]; size_t n, dir, members; unsigned char d[1000]; };

static void le(unsigned char *to, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(v >> 8 * i);
}

static size_t deflated(const unsigned char *from, size_t n, unsigned char *to, size_t room)
{
	z_stream z = {0};

	deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (Bytef *)(uintptr_t)from;
	z.avail_in = (uInt)n;
	z.next_out = to;
	z.avail_out = (uInt)room;
	deflate(&z, Z_FINISH);
	deflateEnd(&z);
	return z.total_out;
}

static void zip_add(struct zip *z, const char *name, const unsigned char *data, size_t n, int method, int wide)
{
	unsigned char *p = z->b + z->n, *d = z->d + z->dir;
	size_t len = strlen(name), packed;

	memset(p, 0, 30);
	memcpy(p, "PK\3\4", 4);
	le(p + 8, (uint64_t)method, 2);
	le(p + 26, len, 2);
	memcpy(p + 30, name, len);
	if (method == 8)
		packed = deflated(data, n, p + 30 + len, 1000);
	else
		memcpy(p + 30 + len, data, packed = n);
	memset(d, 0, 46);
	memcpy(d, "PK\1\2", 4);
	le(d + 10, (uint64_t)method, 2);
	le(d + 16, crc32(crc32(0, NULL, 0), data, (uInt)n), 4);
	le(d + 20, wide ? 0xffffffffu : packed, 4);
	le(d + 24, wide ? 0xffffffffu : n, 4);
	le(d + 28, len, 2);
	le(d + 30, wide ? 20 : 0, 2);
	le(d + 42, z->n, 4);
	memcpy(d + 46, name, len);
	z->dir += 46 + len;
	if (wide) {
		d += 46 + len;
		le(d, 1, 2);
		le(d + 2, 16, 2);
		le(d + 4, n, 8);
		le(d + 12, packed, 8);
		z->dir += 20;
	}
	z->n += 30 + len + packed;
	z->members++;
}

static void zip_end(struct zip *z, const char *comment, int wide)
{
	unsigned char *p = z->b + z->n;
	size_t at = z->n;

	memcpy(p, z->d, z->dir);
	p += z->dir;
	if (wide) {
		memset(p, 0, 76);
		memcpy(p, "PK\6\6", 4);
		le(p + 32, z->members, 8);
		le(p + 40, z->dir, 8);
		le(p + 48, at, 8);
		memcpy(p + 56, "PK\6\7", 4);
		le(p + 64, at + z->dir, 8);
		p += 76;
	}
	memset(p, 0, 22);
	memcpy(p, "PK\5\6", 4);
	le(p + 10, wide ? 0xffff : z->members, 2);
	le(p + 12, wide ? 0xffffffffu : z->dir, 4);
	le(p + 16, wide ? 0xffffffffu : at, 4);
	le(p + 20, strlen(comment), 2);
	memcpy(p + 22, comment, strlen(comment));
	z->n = (size_t)(p - z->b) + 22 + strlen(comment);
}

static void make_zip(struct zip *z, int wide)
{
	unsigned char b[400];
	size_t n;

	memset(z, 0, sizeof *z);
	n = npy(b, 1, good[0].dict, some, 48);
	zip_add(z, "a.npy", b, n, 0, wide);
	n = npy(b, 1, good[1].dict, some, 48);
	zip_add(z, "b.npy", b, n, 8, wide);
	zip_add(z, "readme", (const unsigned char *)"hello", 5, 0, 0);
	zip_end(z, "a comment PK\5\6", wide);
}

static void test_npz(void)
{
	struct zip z;
	char **names;
	int n;
	gx_error err;

	for (int wide = 0; wide < 2; wide++) {
		make_zip(&z, wide);
		put("z.npz", z.b, z.n);
		expect(wide ? "zip64, stored" : "npz, stored", "z.npz:a", good[0].want);
		expect(wide ? "zip64, deflated" : "npz, deflated", "z.npz:b", good[1].want);
		expect("npz, full member name", "z.npz:a.npy", good[0].want);
		n = 0;
		check(npz_members("z.npz", &names, &n, &err) == GX_OK && n == 2 && !strcmp(names[0], "a") && !strcmp(names[1], "b"),
			"npz_members", err.message);
		free(names);
	}
	put("z", z.b, z.n);
	expect("npz by content", "z", "1 z holds 2 arrays (a, b); hint: name one, FILE.npz:NAME");
	expect("npz, no such member", "z.npz:c", "12 z.npz has no array 'c'; it holds a, b");
	z.b[30 + 5 + 100] ^= 1;
	put("z.npz", z.b, z.n);
	expect("npz, a flipped bit", "z.npz:a", "12 z.npz:a is damaged: its checksum (CRC) is wrong");
	make_zip(&z, 0);
	put("z.npz", z.b, z.n - 60);
	expect("npz, cut short", "z.npz:a", "12 z.npz: no zip directory at its end; the .npz (zip) file is damaged or truncated");
	put("z.npz", "hello, no zip", 13);
	expect("npz that is none", "z.npz:a", "12 z.npz is not an .npz (zip) file");
	memset(&z, 0, sizeof z);
	zip_add(&z, "big.npy", (const unsigned char *)"0123456789", 10, 8, 1);
	le(z.d + 46 + 7 + 4, (uint64_t)1 << 60, 8);
	zip_end(&z, "", 0);
	put("z.npz", z.b, z.n);
	expect("npz, a size that cannot be", "z.npz", "12 z.npz: the size of a member cannot be true; the .npz (zip) file is damaged or truncated");
	memset(&z, 0, sizeof z);
	zip_add(&z, "x.npy", (const unsigned char *)"0123456789", 10, 0, 0);
	le(z.d + 10, 12, 2);
	zip_end(&z, "", 0);
	put("z.npz", z.b, z.n);
	expect("npz, another method", "z.npz:x", "7 z.npz: a member is compressed by method 12; gpuexpr reads stored (0) and deflated (8) ones");
}

static void text_is(gx_dtype t, const void *e, const char *want)
{
	char buf[40], name[80];
	int n = element_text(t, e, buf);

	snprintf(name, sizeof name, "%s text %s", gx_dtype_name(t), want);
	check(n == (int)strlen(buf) && strcmp(buf, want) == 0, name, buf);
}

static void test_numbers(void)
{
	static const struct { double v; const char *text; } reals[] = {
		{1, "1.0"}, {0.1, "0.1"}, {1e-5, "1e-05"}, {1e-4, "0.0001"}, {1e16, "1e+16"}, {9007199254740992, "9007199254740992.0"},
		{1e15, "1000000000000000.0"}, {-0.0, "-0.0"}, {5e-324, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e+308"},
		{0x1p-44, "5.684341886080802e-14"}, {123456789.125, "123456789.125"}, {2.2250738585072014e-308, "2.2250738585072014e-308"},
		{1e23, "1e+23"}, {9e15, "9000000000000000.0"}, {0.3, "0.3"}, {0.1 + 0.2, "0.30000000000000004"}, {100, "100.0"},
	};
	static const struct { const char *text; int rc; double v; int whole; } numbers[] = {
		{"1", 0, 1, 1}, {"-7", 0, -7, 1}, {"+7", 0, 7, 1}, {"1.", 0, 1, 0}, {".5", 0, 0.5, 0}, {"1e3", 0, 1000, 0}, {"1E-3", 0, 1e-3, 0},
		{"-0", 0, 0, 1}, {"-0.0", 0, -0.0, 0}, {"1e400", 0, INFINITY, 0}, {"1e-400", 0, 0, 0}, {"0.1", 0, 0.1, 0},
		{"123456789012345678", 0, 123456789012345678.0, 1}, {"1.7976931348623157e308", 0, 1.7976931348623157e308, 0},
		{"2.2250738585072011e-308", 0, 2.2250738585072011e-308, 0}, {"0000000000000000000000001", 0, 1, 1}, {"inf", 0, INFINITY, 0},
		{"", -1, 0, 0}, {"-", -1, 0, 0}, {".", -1, 0, 0}, {"e5", -1, 0, 0}, {"1e", -1, 0, 0}, {"1e+", -1, 0, 0}, {"1 ", -1, 0, 0},
		{" 1", -1, 0, 0}, {"1,5", -1, 0, 0}, {"0x1p3", -1, 0, 0}, {"--1", -1, 0, 0}, {"1.2.3", -1, 0, 0}, {"infinit", -1, 0, 0},
		{"nan(1)", -1, 0, 0}, {"18446744073709551616", 0, 18446744073709551616.0, 0}, {"1e99999999999999999999", 0, INFINITY, 0},
	};

	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		text_is(GX_FLOAT64, &reals[i].v, reals[i].text);
	text_is(GX_FLOAT64, &(double){NAN}, "nan");
	text_is(GX_FLOAT64, &(double){-INFINITY}, "-inf");
	text_is(GX_FLOAT32, &(float){0.1f}, "0.1");
	text_is(GX_FLOAT32, &(float){16777216.0f}, "16777216.0");
	text_is(GX_FLOAT32, &(float){1e-45f}, "1e-45");
	text_is(GX_FLOAT32, &(float){3.4028235e38f}, "3.4028235e+38");
	text_is(GX_FLOAT16, &(uint16_t){0x7c00}, "inf");
	text_is(GX_FLOAT16, &(uint16_t){0xfe00}, "nan");
	text_is(GX_BFLOAT16, &(uint16_t){0x7f7f}, "3.39e+38");
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		double v = 0;
		int64_t whole = 0;
		int is_whole = 0, rc = number_parse(numbers[i].text, strlen(numbers[i].text), &v, &whole, &is_whole);
		char name[60];

		snprintf(name, sizeof name, "parse '%s'", numbers[i].text);
		check(rc == numbers[i].rc && (rc || (v == numbers[i].v && signbit(v) == signbit(numbers[i].v) && is_whole == numbers[i].whole &&
			(!is_whole || (double)whole == v))), name, "wrong value or kind");
	}
}

/* Where the locale is not installed it is made here, from its source, if that is. */
static int use_german(void)
{
	char folder[200];

	if (setlocale(LC_ALL, "de_DE.UTF-8"))
		return 1;
	if (system("localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 >/dev/null 2>&1") || !getcwd(folder, sizeof folder))
		return 0;
	setenv("LOCPATH", folder, 1);
	return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void test_locale(void)
{
	if (!use_german()) {
		printf("skip a locale with a decimal comma: de_DE.UTF-8 is not here\n");
		skipped++;
		return;
	}
	check(strcmp(localeconv()->decimal_point, ",") == 0, "a locale with a decimal comma", "it has none");
	test_numbers();
	put_text("t.csv", "1.5,0.30000000000000004\n2.25,1e-400\n");
	expect("a table under a decimal comma", "t.csv", "float64 (2/2 2/1): 1.5 0.30000000000000004 2.25 0.0");
	setlocale(LC_ALL, "C");
}

/* Whatever the bytes, reading ends with a status and leaves nothing behind; under sanitizers it also proves no bad access. */
static void spoil(const char *name, const char *file, const char *spec, const unsigned char *data, size_t n)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, '(', '\'', '9', '-', '}'};
	unsigned char *b = malloc(n + 1);
	struct file_array a;
	gx_error err;
	long reads = 0, refused = 0;

	for (size_t k = 0; k < n; k++) {
		put(file, data, k);
		refused += file_read(spec, &a, &err) != GX_OK;
		file_array_free(&a);
		reads++;
	}
	for (size_t k = 0; k < n; k++)
		for (size_t v = 0; v < sizeof values; v++) {
			memcpy(b, data, n);
			b[k] = values[v];
			put(file, b, n);
			refused += file_read(spec, &a, &err) != GX_OK;
			file_array_free(&a);
			reads++;
		}
	check(refused > reads / 20 && refused <= reads, name, "hardly anything was refused");
	free(b);
}

static void test_spoiled(void)
{
	unsigned char b[400];
	struct zip z;

	spoil("spoiled npy", "s.npy", "s.npy", b, npy(b, 1, good[0].dict, some, 48));
	spoil("spoiled npy 3.0", "s.npy", "s.npy", b, npy(b, 3, good[5].dict, some, 16));
	spoil("spoiled structured npy", "s.npy", "s.npy", b, npy(b, 1, TYPE("[(('t', 'x'), '<f4', (3,)), ('y', [('u', '<i4')])]"), some, 16));
	make_zip(&z, 1);
	spoil("spoiled npz, stored", "s.npz", "s.npz:a", z.b, z.n);
	spoil("spoiled npz, deflated", "s.npz", "s.npz:b", z.b, z.n);
	spoil("spoiled table", "s.csv", "s.csv", (const unsigned char *)"a,\"b\"\r\n1,\"2.5\"\n3e4,\n", 21);
}

/* Every allocation fails once: no memory is said, nothing leaks (the sanitizer counts). */
static void test_faults(void)
{
#ifdef GX_FAULTS
	static const char *const specs[] = {"t.npy", "z.npz:b", "z.npz:a", "t.csv", "r.raw:u8:1"};
	struct zip z;

	put_npy("t.npy", 1, good[0].dict, some, 48);
	make_zip(&z, 0);
	put("z.npz", z.b, z.n);
	put_text("t.csv", "1,2\n3,4.5\n");
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		gx_status s = GX_NOMEM;
		int n = 0;

		while (s == GX_NOMEM && n < 100) {
			struct file_array a;

			fault_set(++n, 0);
			s = file_read(specs[i], &a, NULL);
			fault_set(0, 0);
			file_array_free(&a);
		}
		check(s == GX_OK && n > 2, specs[i], "an allocation that fails is not told as such");
	}
#else
	printf("skip failing allocations: not built with -DGX_FAULTS\n");
	skipped++;
#endif
}

/* The driver for tests/numpy/formats.py. */
static int copy(const char *spec, const char *path)
{
	struct file_array f;
	struct output o;
	gx_error err;
	gx_array a;
	char *data;
	int64_t i = 0, at = 0, count;

	if (file_read(spec, &f, &err))
		return fprintf(stderr, "%s\n", err.text), 1;
	data = malloc(f.bytes + 1);
	count = (int64_t)(f.bytes / gx_dtype_size(f.dtype));
	for (i = 0; i < count; i++) {
		int64_t left = i;

		at = 0;
		for (int k = f.rank - 1; k >= 0; k--) {
			at += left % f.shape[k] * f.stride[k];
			left /= f.shape[k];
		}
		memcpy(data + i * (int64_t)gx_dtype_size(f.dtype), (char *)f.data + at * (int64_t)gx_dtype_size(f.dtype), gx_dtype_size(f.dtype));
	}
	memset(&a, 0, sizeof a);
	a.dtype = f.dtype;
	a.rank = f.rank;
	a.data = data;
	at = 1;
	for (int k = f.rank - 1; k >= 0; k--) {
		a.shape[k] = f.shape[k];
		a.stride[k] = at;
		at *= f.shape[k];
	}
	if (output_open(path, 1, &o, &err) || output_write(&o, &a, &err) || output_commit(&o, &err))
		return fprintf(stderr, "%s\n", err.text), 1;
	file_array_free(&f);
	free(data);
	return 0;
}

static int print_elements(const char *type)
{
	gx_dtype t;
	char element[16], text[40];

	if (gx_dtype_find(type, &t))
		return 1;
	while (fread(element, gx_dtype_size(t), 1, stdin) == 1) {
		element_text(t, element, text);
		puts(text);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char home[] = "/tmp/gx-formats-XXXXXX", command[100];

	if (argc == 4 && strcmp(argv[1], "copy") == 0)
		return copy(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "text") == 0)
		return print_elements(argv[2]);
	if (!mkdtemp(home) || chdir(home))
		return 1;
	test_headers();
	test_types();
	test_mapped();
	test_raw();
	test_tables();
	test_npz();
	test_numbers();
	test_locale();
	test_spoiled();
	test_faults();
	test_streams();
	snprintf(command, sizeof command, "rm -rf %s", home);
	if (chdir("/") || system(command))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
