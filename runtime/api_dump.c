/* api_dump.c -- what the library says about itself: the stages of a program as text, the operation table, doctor, devices, cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "runtime/cache.h"
#include "runtime/doctor.h"
#include "runtime/nvrtc.h"
#include "runtime/program.h"

static gx_status give(struct buf *b, char **text, gx_error *err)
{
	*text = buf_take(b);
	return *text ? GX_OK : diag_plain(err, GX_NOMEM, "out of memory");
}

static gx_status dump_ast(const gx_program *p, struct buf *b, gx_error *err)
{
	gx_formula *f;
	gx_status s = gx_parse(p->text.text, p->text.len, p->text.origin, &f, err);

	if (s)
		return s;
	ast_print(f->f.program, b);
	gx_formula_free(f);
	return GX_OK;
}

static gx_status dump_kernels(gx_context *ctx, const gx_program *p, int ptx, struct buf *b, gx_error *err)
{
	const char *arch = ctx->opt.arch ? ctx->opt.arch : ctx->cuda ? cuda_engine_arch(ctx->cuda) : "sm_90";
	struct units units;
	gx_status s = GX_OK;

	if (cuda_units_make(p->plan, &units))
		return diag_plain(err, GX_NOMEM, "out of memory");
	for (int i = 0; i < units.n && !s; i++) {
		const struct unit *u = &units.unit[i];
		struct cuda_text t;
		char *text = NULL;

		if (cuda_text_limit(u))
			s = diag_plain(err, GX_LIMIT, "%s", cuda_text_limit(u));
		else if (cuda_text_make(p->plan, u, ctx->opt.math, &t))
			s = diag_plain(err, GX_NOMEM, "out of memory");
		if (s)
			break;
		if (ptx)
			s = cuda_dump_ptx(t.text.text, arch, ctx->opt.math, &text, err);
		if (!s)
			buf_fmt(b, "%s%s", i ? "\n" : "", ptx ? text : t.text.text);
		free(text);
		cuda_text_free(&t);
	}
	cuda_units_free(&units);
	return s;
}

static void dump_json(const gx_program *p, struct buf *b)
{
	buf_fmt(b, "{\"version\": 1, \"kernels\": %d, \"bytes_read\": %lld, \"bytes_written\": %lld, \"operations\": %.0f, \"outputs\": [",
		p->cost.kernels, (long long)p->cost.bytes_read, (long long)p->cost.bytes_written, p->cost.operations);
	for (int i = 0; i < p->plan->noutput; i++) {
		const struct plan_output *o = &p->plan->output[i];

		buf_str(b, i ? ", {\"name\": " : "{\"name\": ");
		buf_json(b, o->name);
		buf_fmt(b, ", \"dtype\": \"%s\", \"shape\": [", type_table[o->mem].name);
		for (int k = 0; k < o->shape.rank; k++)
			buf_fmt(b, "%s%lld", k ? ", " : "", (long long)o->shape.n[k]);
		buf_str(b, "]}");
	}
	buf_str(b, "]}\n");
}

gx_status gx_program_dump(gx_context *ctx, const gx_program *p, const char *stage, char **text, gx_error *err)
{
	struct buf b = {0};
	gx_status s = GX_OK;

	*text = NULL;
	if (!strcmp(stage, "ast"))
		s = dump_ast(p, &b, err);
	else if (!strcmp(stage, "ir"))
		ir_print(p->ir, &b);
	else if (!strcmp(stage, "plan"))
		plan_print(p->plan, &b);
	else if (!strcmp(stage, "explain"))
		plan_explain(p->plan, &b);
	else if (!strcmp(stage, "json"))
		dump_json(p, &b);
	else if (!strcmp(stage, "cuda") || !strcmp(stage, "ptx"))
		s = dump_kernels(ctx, p, stage[0] == 'p', &b, err);
	else
		s = diag_plain(err, GX_ARG, "unknown stage `%s`: ast, ir, plan, cuda, ptx, explain or json", stage);
	if (s == GX_OK)
		return give(&b, text, err);
	buf_free(&b);
	return s;
}

gx_status gx_ops_table(char **text, gx_error *err)
{
	static const char *const arity[] = {"", "x", "x, y", "c, y, z"};
	struct buf b = {0};

	buf_str(&b, "| function | | error, ulp (float32 / float64) |\n|---|---|---|\n");
	for (int i = 1; i < NOPS; i++) {
		const struct op_info *o = &op_table[i];

		if (o->name[0] == '_' || !o->doc[0])
			continue;
		buf_fmt(&b, "| `%s(%s)` | %s | ", o->name, arity[o->arity], o->doc);
		if (o->ulp32 || o->ulp64)
			buf_fmt(&b, "%d / %d |\n", o->ulp32, o->ulp64);
		else
			buf_str(&b, "exact |\n");
	}
	for (int i = 0; i < nfunctions; i++)
		buf_fmt(&b, "| `%s(%s)` | %s | as `%s` |\n", function_table[i].name, function_table[i].params, function_table[i].doc,
			function_table[i].body);
	buf_char(&b, '\n');
	reductions_table(&b);
	buf_char(&b, '\n');
	scans_table(&b);
	buf_char(&b, '\n');
	makes_table(&b);
	buf_str(&b, "\nOther spellings: ");
	for (int i = 0; i < naliases; i++)
		buf_fmt(&b, "%s`%s` = `%s`", i ? ", " : "", alias_table[i].spelling, alias_table[i].name);
	buf_str(&b, ".\n");
	return give(&b, text, err);
}

gx_status gx_doctor(const gx_options *opt, int json, char **text, gx_error *err)
{
	struct buf b = {0};
	gx_status s = opt && opt->arch ? nvrtc_check_arch(opt->arch, err) : GX_OK, g;

	*text = NULL;
	if (s)
		return s;
	s = doctor_text(opt, json, &b);
	g = give(&b, text, err);
	return g ? g : s;
}

gx_status gx_devices(char **text, gx_error *err)
{
	struct buf b = {0};
	gx_status s = devices_text(&b, err);

	*text = NULL;
	if (s == GX_OK)
		return give(&b, text, err);
	buf_free(&b);
	return s;
}

gx_status gx_cache(const gx_options *opt, const char *command, char **text, gx_error *err)
{
	struct buf b = {0};
	gx_status s = cache_command(opt, command, &b, err);

	*text = NULL;
	if (s == GX_OK)
		return give(&b, text, err);
	buf_free(&b);
	return s;
}
