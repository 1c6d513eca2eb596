# Benchmarks of the CPU engine; NumPy and numexpr are the rivals. PYTHON has to have both: python3 -m venv V; V/bin/pip install numpy numexpr
PYTHON    ?= python3
BENCH_CPU ?= --threads=1

bench-cpu: $(B)/libgpuexpr.so
	$(Q)$(PYTHON) bench/cpu.py $(BENCH_CPU)

.PHONY: bench-cpu
