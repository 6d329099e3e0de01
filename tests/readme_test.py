"""Checks that the C++ block of a page is the file that is compiled and run as a test: readme_test.py PAGE EXAMPLE"""
import pathlib
import sys

readme, example = (pathlib.Path(path).read_text() for path in sys.argv[1:])
if f'```cpp\n{example}```' not in readme:
    sys.exit(f'the C++ block of {sys.argv[1]} is not the content of {sys.argv[2]}')
