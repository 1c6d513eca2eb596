"""The shared collection of cases (its run.py) over the gpuexpr command, against the list of those that are not covered yet.

    python tests/cases.py RUN.PY GPUEXPR NOT-COVERED.TXT [cpu|cuda]

A case that fails is a failure unless it is listed; a listed one that passes is a failure too, so that the list stays true. Prints
`ok ID`, `FAIL ID: why` and the line of counts; one skipped when the collection is not there.
"""
import os
import re
import subprocess
import sys


def listed(path):
    """ID -> reason."""
    with open(path) as f:
        lines = [s.split(None, 1) for s in f if s.strip() and not s.startswith("#")]
    return {i: why.strip() for i, why in lines}


def outcomes(run, exe, device):
    """(result, id, text) of every case; None when run.py did not get to its end."""
    p = subprocess.run([sys.executable, run, "-v", f"--bin={exe}", f"--device={device}"], capture_output=True, text=True, errors="replace")
    found = re.findall(r"^(pass|fail|skip) (\S+) (.*)$", p.stdout, re.M)
    total = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", p.stdout, re.M)
    if not total or sum(map(int, total.groups())) != len(found):
        print(p.stdout[-500:], p.stderr[-500:])
        return None
    return found


def main():
    run, exe, covered = sys.argv[1:4]
    device = sys.argv[4] if len(sys.argv) > 4 else "cpu"
    if not os.path.exists(run):
        print(f"skip: {run} is not here\n0 passed, 0 failed, 1 skipped")
        return 0
    waiting = listed(covered)
    found = outcomes(run, exe, device)
    if not found:
        print("FAIL run.py: it did not finish\n0 passed, 1 failed, 0 skipped")
        return 1
    n = {"ok": 0, "FAIL": 0, "skip": 0}
    quiet = 0
    for result, case, text in found:
        why = waiting.pop(case, None)
        if why and result == "fail":
            word, text = "skip", f"not covered: {why}"
        elif why:
            word, text = "FAIL", "is not a failure any more: remove it from the list"
        else:
            word = {"pass": "ok", "fail": "FAIL", "skip": "skip"}[result]
        n[word] += 1
        if word == "skip" and not why:
            quiet += 1
            continue
        print(f"ok {case}" if word == "ok" else f"{word} {case}: {text}")
    for case in waiting:
        n["FAIL"] += 1
        print(f"FAIL {case}: listed in {covered}, but there is no such case")
    print(f"skip {quiet} cases that run.py cannot run: described in words, or larger than it makes them")
    print(f"{n['ok']} passed, {n['FAIL']} failed, {n['skip']} skipped")
    return n["FAIL"] != 0


sys.exit(main())
