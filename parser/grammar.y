/* grammar.y -- tokens to a tree (lemon). Edit this file, not build/parser/grammar.c.
 * Infix operators are sugar for the call of a named operation, so the parser needs no list of operations. The arena owns all
 * nodes: no destructors. Statements are separated by SEP, which parse.c makes of `;` and of newlines outside brackets. */
%name grammar
%token_prefix TK_
%token_type {struct token}
%default_type {struct ast *}
%extra_argument {struct parse *p}
%stack_size 2000

%include {
#include <assert.h>

#include "parser/parse.h"
}

%code {
size_t grammar_size(void);
size_t grammar_size(void)
{
	return sizeof(yyParser);
}
}

%syntax_error { parse_unexpected(p, TOKEN); }

/* lemon has emptied the stack, but what filled it is still in its memory: the first operator or bracket too many of those that wait. */
%stack_overflow {
	struct token at = p->token;
	int level = 0;

	for (int i = 1; i < YYSTACKDEPTH && level <= MAX_DEPTH; i++) {
		int kind = yypParser->yystack[i].major;

		if (kind >= YYNTOKEN || kind == TK_NAME || kind == TK_ASSIGN || kind == TK_COMMA || kind == TK_COLON || kind == TK_SEP)
			continue;
		at = yypParser->yystack[i].minor.yy0;
		level++;
	}
	parse_too_deep(p, at);
}

/* Loosest first. */
%right QUESTION COLON.
%left OR.
%left AND.
%right NOT.
%left LT LE GT GE EQ NE.
%left BAR.
%left CARET.
%left AMP.
%left SHL SHR.
%left PLUS MINUS.
%left STAR SLASH FLOORDIV PERCENT AT.
%right UNARY TILDE BANG.
%right POW.
%left LB DOT.

%token NEWLINE SEMI.

program ::= statements.
statements ::= statement.
statements ::= statements SEP statement.

statement ::= .
statement ::= expr(E).                       { parse_statement(p, E); }
statement ::= NAME(N) ASSIGN expr(E).        { parse_statement(p, parse_named(p, AST_ASSIGN, N, E)); }
statement ::= DEF NAME(N) LP names(L) RP ASSIGN expr(E). { parse_statement(p, parse_def(p, N, L, E)); }

names(A) ::= .                               { A = ast_new(p->f->arena, AST_DEF, (struct span){0, 0}); }
names(A) ::= name_list(B).                   { A = B; }
name_list(A) ::= NAME(N).                    { A = ast_new(p->f->arena, AST_DEF, N.span); ast_add(A, parse_name(p, N)); }
name_list(A) ::= name_list(B) COMMA NAME(N). { A = B; ast_add(A, parse_name(p, N)); }

expr(A) ::= expr(B) QUESTION expr(C) COLON expr(D). [QUESTION] { A = parse_cond(p, B, C, D); }
expr(A) ::= expr(B) OR(T) expr(C).           { A = parse_infix(p, "logical_or", T, B, C); }
expr(A) ::= expr(B) AND(T) expr(C).          { A = parse_infix(p, "logical_and", T, B, C); }
expr(A) ::= NOT(T) expr(B).                  { A = parse_prefix(p, "logical_not", T, B); }
expr(A) ::= expr(B) LT(T) expr(C).           { A = parse_compare(p, "less", T, B, C); }
expr(A) ::= expr(B) LE(T) expr(C).           { A = parse_compare(p, "less_equal", T, B, C); }
expr(A) ::= expr(B) GT(T) expr(C).           { A = parse_compare(p, "greater", T, B, C); }
expr(A) ::= expr(B) GE(T) expr(C).           { A = parse_compare(p, "greater_equal", T, B, C); }
expr(A) ::= expr(B) EQ(T) expr(C).           { A = parse_compare(p, "equal", T, B, C); }
expr(A) ::= expr(B) NE(T) expr(C).           { A = parse_compare(p, "not_equal", T, B, C); }
expr(A) ::= expr(B) BAR(T) expr(C).          { A = parse_infix(p, "bitwise_or", T, B, C); }
expr(A) ::= expr(B) CARET(T) expr(C).        { A = parse_infix(p, "bitwise_xor", T, B, C); }
expr(A) ::= expr(B) AMP(T) expr(C).          { A = parse_infix(p, "bitwise_and", T, B, C); }
expr(A) ::= expr(B) SHL(T) expr(C).          { A = parse_infix(p, "left_shift", T, B, C); }
expr(A) ::= expr(B) SHR(T) expr(C).          { A = parse_infix(p, "right_shift", T, B, C); }
expr(A) ::= expr(B) PLUS(T) expr(C).         { A = parse_infix(p, "add", T, B, C); }
expr(A) ::= expr(B) MINUS(T) expr(C).        { A = parse_infix(p, "subtract", T, B, C); }
expr(A) ::= expr(B) STAR(T) expr(C).         { A = parse_infix(p, "multiply", T, B, C); }
expr(A) ::= expr(B) SLASH(T) expr(C).        { A = parse_infix(p, "divide", T, B, C); }
expr(A) ::= expr(B) FLOORDIV(T) expr(C).     { A = parse_infix(p, "floor_divide", T, B, C); }
expr(A) ::= expr(B) PERCENT(T) expr(C).      { A = parse_infix(p, "remainder", T, B, C); }
expr(A) ::= expr(B) AT(T) expr(C).           { A = parse_infix(p, "matmul", T, B, C); }
expr(A) ::= MINUS(T) expr(B). [UNARY]        { A = parse_prefix(p, "negative", T, B); }
expr(A) ::= PLUS(T) expr(B). [UNARY]         { A = parse_prefix(p, "positive", T, B); }
expr(A) ::= TILDE(T) expr(B).                { A = parse_prefix(p, "invert", T, B); }
expr(A) ::= BANG(T) expr(B).                 { A = parse_prefix(p, "logical_not", T, B); }
expr(A) ::= expr(B) POW(T) expr(C).          { A = parse_infix(p, "power", T, B, C); }
expr(A) ::= expr(B) LB items(L) RB(T).       { A = parse_index(p, B, L, T); }
expr(A) ::= expr(B) DOT NAME(N).             { A = parse_named(p, AST_ATTR, N, B); }
expr(A) ::= NAME(N) LP args(L) RP(T).        { A = parse_call(p, N, L, T); }
expr(A) ::= LP(S) expr(B) RP(T).             { A = parse_paren(B, S, T); }
expr(A) ::= NAME(N).                         { A = parse_name(p, N); }
expr(A) ::= INT(N).                          { A = parse_number(p, N); }
expr(A) ::= FLOAT(N).                        { A = parse_number(p, N); }
expr(A) ::= IMAGINARY(N).                    { A = parse_number(p, N); }
expr(A) ::= TRUE(N).                         { A = parse_number(p, N); }
expr(A) ::= FALSE(N).                        { A = parse_number(p, N); }
expr(A) ::= INF(N).                          { A = parse_number(p, N); }
expr(A) ::= NAN(N).                          { A = parse_number(p, N); }
expr(A) ::= PI(N).                           { A = parse_number(p, N); }

args(A) ::= .                                { A = ast_new(p->f->arena, AST_CALL, (struct span){0, 0}); }
args(A) ::= arg_list(B).                     { A = B; }
args(A) ::= arg_list(B) COMMA.               { A = B; }
arg_list(A) ::= arg(B).                      { A = ast_new(p->f->arena, AST_CALL, B->span); ast_add(A, B); }
arg_list(A) ::= arg_list(B) COMMA arg(C).    { A = B; ast_add(A, C); }
arg(A) ::= expr(B).                          { A = B; }
arg(A) ::= tuple(B).                         { A = B; }
arg(A) ::= NONE(N).                          { A = ast_new(p->f->arena, AST_NONE, N.span); }
arg(A) ::= NAME(N) ASSIGN arg(B).            { A = parse_named(p, AST_KEYWORD, N, B); }
tuple(A) ::= LP(S) RP(T).                    { A = parse_tuple(p, 0, 0, S, T); }
tuple(A) ::= LP(S) expr(B) COMMA RP(T).      { A = parse_tuple(p, B, 0, S, T); }
tuple(A) ::= LP(S) expr(B) COMMA expr_list(L) RP(T).       { A = parse_tuple(p, B, L, S, T); }
tuple(A) ::= LP(S) expr(B) COMMA expr_list(L) COMMA RP(T). { A = parse_tuple(p, B, L, S, T); }
expr_list(A) ::= expr(B).                    { A = ast_new(p->f->arena, AST_TUPLE, B->span); ast_add(A, B); }
expr_list(A) ::= expr_list(B) COMMA expr(C). { A = B; ast_add(A, C); }

items(A) ::= item_list(B).                   { A = B; }
items(A) ::= item_list(B) COMMA.             { A = B; }
item_list(A) ::= item(B).                    { A = ast_new(p->f->arena, AST_INDEX, B->span); ast_add(A, B); }
item_list(A) ::= item_list(B) COMMA item(C). { A = B; ast_add(A, C); }
item(A) ::= expr(B).                         { A = B; }
item(A) ::= NONE(N).                         { A = ast_new(p->f->arena, AST_NONE, N.span); }
item(A) ::= ELLIPSIS(N).                     { A = ast_new(p->f->arena, AST_ELLIPSIS, N.span); }
item(A) ::= bound(B) COLON(T) bound(C).      { A = parse_slice(p, T, B, C, 0); }
item(A) ::= bound(B) COLON(T) bound(C) COLON bound(D). { A = parse_slice(p, T, B, C, D); }
bound(A) ::= .                               { A = ast_new(p->f->arena, AST_NONE, (struct span){0, 0}); }
bound(A) ::= expr(B).                        { A = B; }
