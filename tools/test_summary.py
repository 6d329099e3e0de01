"""Names what failed in finished `meson test`s and counts their cases in one plain line: test_summary.py testlog.json...

A doctest program counts for each of its test cases, any other test for one, and so does a build that failed and left no
log."""
import json
import pathlib
import re
import sys

CASES = re.compile(r'test cases:\s+\d+ \|\s+(\d+) passed \|\s+(\d+) failed(?: \|\s+(\d+) skipped)?')

# The last thing a program said is why it failed, but for doctest's, which say it of each case and go on.
LINES_OF_A_FAILURE = 15


def reasons(test):
    cases = [block.strip() for block in re.split('^=+$', test.get('stdout', ''), flags=re.M) if ' ERROR: ' in block]
    output = (test.get('stdout', '') + test.get('stderr', '')).splitlines()
    return cases or ['\n'.join(output[-LINES_OF_A_FAILURE:])]


passed = failed = skipped = 0
for log in map(pathlib.Path, sys.argv[1:]):
    if not log.exists():
        failed += 1
        print(f'{log.parent.parent} has no results: its build failed')
    for test in map(json.loads, log.read_text().splitlines() if log.exists() else []):
        counts = CASES.search(test.get('stdout', ''))
        ok = test['result'] in ('OK', 'EXPECTEDFAIL', 'SKIP')
        if not ok:
            print(f"FAILED {test['name']} ({test['result']})", *reasons(test), '', sep='\n')
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
