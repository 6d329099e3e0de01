#!/usr/bin/env python3
"""Times of the builds of two revisions, one after the other on the same machine, from fresh clones and without a compiler
cache: perf/build_time.py OLD NEW [--runs N] [-DOPTION=VALUE ...]. The program alone, then all that tests need. Seconds of
processor count, of the build and all that it starts; those of the wall are worth something on a quiet machine alone."""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = {'program': 'tools/npzoo', 'everything': 'meson-test-prereq'}


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def build(revision, options, folder):
    """Seconds of processor and of the wall from nothing up to each target."""
    environment = {**os.environ, 'CCACHE_DISABLE': '1'}
    run = lambda *command, **more: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, **more)
    run('git', 'clone', '-q', str(ROOT), str(folder))
    run('git', 'checkout', '-q', revision, cwd=folder)
    run('meson', 'setup', 'build', *options, cwd=folder)
    begun = processor_seconds(), time.monotonic()
    taken = {}
    for name, target in TARGETS.items():
        run('ninja', '-C', 'build', target, cwd=folder)
        taken[name] = processor_seconds() - begun[0], time.monotonic() - begun[1]
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--runs', type=int, default=1, help='builds of each, in turn; medians are told')
    arguments, options = parser.parse_known_args()
    times = {revision: [] for revision in (arguments.old, arguments.new)}
    for _ in range(arguments.runs):
        for revision in times:
            with tempfile.TemporaryDirectory() as folder:
                times[revision].append(build(revision, options, pathlib.Path(folder) / 'npzoo'))
    print(f'{"":12} {"processor, s":>32} {"wall, s":>32}')
    for name in TARGETS:
        row = f'{name:12}'
        for which in (0, 1):
            old, new = (statistics.median(t[name][which] for t in times[revision]) for revision in times)
            row += f' {old:10.1f} → {new:8.1f}  (×{new / old:.2f})'
        print(row)


if __name__ == '__main__':
    main()
