"""The C++ example in the README is the file that is compiled and run as a test: readme_test.py README EXAMPLE"""
import pathlib
import sys

readme, example = (pathlib.Path(path).read_text() for path in sys.argv[1:])
if f'```cpp\n{example}```' not in readme:
    sys.exit('the C++ block of README.md is not the content of tests/readme_example.cpp')
