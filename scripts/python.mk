# Suites that need Python: NumPy parity, the shared cases, random programs. NumPy comes into .venv once; where it cannot be had (no
# venv, no network) those suites count one skipped and say why.
CASE_RUN ?= ../shared/cases/run.py
PY        = .venv/bin/python
VENV      = test -e .venv/ready || { python3 -m venv --system-site-packages .venv && $(PY) -m pip install -q 'numpy>=2' mpmath && touch .venv/ready; }
# $(call numpy,COMMANDS): run them when NumPy is there.
numpy     = if { $(VENV); } >$(B)/venv.log 2>&1; then $(1); else echo "skip: no NumPy: `tail -n 1 $(B)/venv.log`"; echo "0 passed, 0 failed, 1 skipped"; fi

.venv: .venv/ready
.venv/ready:
	$(VENV)

test-numpy: $(B)/gpuexpr $(B)/libgpuexpr.so $(B)/tests/unit_formats
	$(call log,numpy,$(call numpy,r=0; $(PY) tests/numpy/parity.py --build=$(B) || r=1; $(PY) tests/numpy/formats.py $(B)/tests/unit_formats || r=1; [ $$r = 0 ]))

test-cases: $(B)/gpuexpr
	$(call log,cases,$(call numpy,$(PY) tests/cases.py $(CASE_RUN) $(B)/gpuexpr tests/cases-not-covered.txt))

.PHONY: .venv test-numpy test-cases
