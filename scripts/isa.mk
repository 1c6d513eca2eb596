# Objects of the CPU loops, one per instruction set (filled by ops/loops).
ISA_O =
