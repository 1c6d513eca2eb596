/* number.h -- numbers and their decimal text, whatever the process's locale says. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

/* Value of a NUL-terminated decimal or scientific number ("1.5", "1e-3"): correctly rounded; overflow gives infinity. */
double number_real(const char *s);
/* Shortest decimal text that reads back to v ("0.1", "1e+30", "inf", "nan", "-0"); returns its length. */
int number_text(double v, char buf[40]);
/* "512 bytes", "8.0 TB"; gives buf. */
const char *number_bytes(double bytes, char buf[32]);

#endif
