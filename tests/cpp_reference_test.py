#!/usr/bin/env python3
"""Tests docs/cpp_reference.py, which makes pages of C++ headers: cpp_reference_test.py"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "docs"))
import cpp_reference  # noqa: E402

HEADER = '''#pragma once

#include <vector>

namespace npzoo {

class Later;

/// Points on a line, `x` in mm; a < b.
///
///     Line line(2);
///     line.add(1);
class Line : public Shape {
 public:
  explicit Line(int n) : n_(n), x_{} {}

  /// Adds a point.
  void add(double x) {
    if (x > 0) { x_.push_back(x); }
  }
  std::vector<double> x = {};

 protected:
  virtual int count() const = 0;

 private:
  int n_;  // hidden
  std::vector<double> x_;
};

/// Returns the length.
double length(const Line& line);
double length(const Line& a, const Line& b);

enum class Unit { mm, m };  // of lengths

/// Rounds.
template <class T>
T rounded(T x, Unit unit = {}) {
  return unit == Unit{} ? x : T(1000 * x);
}

}  // namespace npzoo
'''
PAGE = '''# line.h

```c++
#include "npzoo/line.h"
```

## `Line`

Points on a line, `x` in mm; a \\< b.

```text
Line line(2);
line.add(1);
```

```c++
class Line : public Shape {
 public:
  explicit Line(int n);

  /// Adds a point.
  void add(double x);
  std::vector<double> x = {};

 protected:
  virtual int count() const = 0;
};
```

## `length`

Returns the length.

```c++
double length(const Line& line);
double length(const Line& a, const Line& b);
```

## `Unit`

```c++
enum class Unit { mm, m };  // of lengths
```

## `rounded`

Rounds.

```c++
template <class T>
T rounded(T x, Unit unit = {});
```
'''


def main():
    made = cpp_reference.page("npzoo/line.h", HEADER)
    if made != PAGE:
        sys.exit(f"cpp_reference_test: found\n{made}\nexpected\n{PAGE}")


if __name__ == "__main__":
    main()
