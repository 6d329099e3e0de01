"""Writes pages of the manual as the program tells them: write.py PROGRAM PAGE..., a PAGE being called npzoo-COMMAND.1."""
import pathlib
import subprocess
import sys

program, *pages = sys.argv[1:]


def output(*args):
    return subprocess.run([program, *args], check=True, stdout=subprocess.PIPE, encoding='utf-8').stdout


for page in map(pathlib.Path, pages):
    command, _, rest = page.stem.partition('-')[2].partition('-')  # npzoo-bench-train-step.1 is of `npzoo bench train-step`
    words = [word for word in (command, rest) if word]
    page.write_text(output('help', '--man', *words), encoding='utf-8')
