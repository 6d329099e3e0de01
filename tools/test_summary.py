"""Counts the cases of finished `meson test`s and prints them as one plain line: test_summary.py testlog.json...

A doctest program counts for each of its test cases, any other test for one, and so does a build that failed and left no
log."""
import json
import pathlib
import re
import sys

CASES = re.compile(r'test cases:\s+\d+ \|\s+(\d+) passed \|\s+(\d+) failed(?: \|\s+(\d+) skipped)?')

passed = failed = skipped = 0
for log in map(pathlib.Path, sys.argv[1:]):
    failed += not log.exists()
    for test in map(json.loads, log.read_text().splitlines() if log.exists() else []):
        counts = CASES.search(test.get('stdout', ''))
        ok = test['result'] in ('OK', 'EXPECTEDFAIL')
        if test['result'] == 'SKIP':
            skipped += 1
        elif counts:
            passed += int(counts[1])
            # A program that died or leaked after its last case has failed all the same.
            failed += max(int(counts[2]), 0 if ok else 1)
            skipped += int(counts[3] or 0)
        else:
            passed += ok
            failed += not ok
print(f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else ''))
sys.exit(1 if failed or not passed else 0)
