# sizes.awk -- C sources -> files over 500 lines, functions over 60 lines, lines over 140 columns; last, the sizes at large.
# The lexer is one function by nature: its table of rules.
# A function runs from the `{` in column 1 to the `}` in column 1 (the house's style puts them there).
FNR == 1 {
	finish()
	file = FILENAME
}
{
	lines++
	width = length($0) + gsub(/\t/, "\t") * 3   # a tab as 4 columns: few are as wide as 8 everywhere
	if (width > 140)
		bad(FILENAME ":" FNR ": " width " columns")
}
/^\{$/ { start = FNR }
/^\}$/ && start {
	n = FNR - start - 1
	count[n]++
	functions++
	if (n > 60 && FILENAME !~ /\.re$/)
		bad(FILENAME ":" start ": a function of " n " lines")
	start = 0
}
END {
	finish()
	for (n = 0; n < 1000 && seen * 2 < functions; n++)
		seen += count[n]
	printf "%d functions, median %d lines; %d lines in all\n", functions, n - 1, total
	exit failed
}
function finish()
{
	if (lines > limit + 0)
		bad(file ": " lines " lines, over " limit)
	total += lines
	lines = start = 0
}
function bad(text)
{
	print "FAIL sizes: " text
	failed = 1
}
