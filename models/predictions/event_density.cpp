#include "npzoo/models/predictions/event_density.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

void check_gap(double gap) { check(!(gap < 0), "[prediction] gap {} found, expected 0 or more", gap); }

}  // namespace

/// By arithmetic instead of an index, since marks may be on a device and nothing waits for them.
Tensor chosen_marks(const Tensor& mark, std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return relu(affine(abs(sub(mark, row_of_constants(numbers, mark))), -1, 1));
}

void check_events(const Tensor& y, std::int64_t tasks, std::int64_t events, std::int64_t marks) {
  const Shape expected{tasks, events, 1 + (marks > 0)};
  check(y.shape() == expected, "[prediction] y {} found, expected {}", y.shape(), expected);
  if (y.device() != Device::cpu) return;
  const Tensor here = on_host(y);
  const auto values = here.values<double>();
  const auto width = static_cast<std::size_t>(y.dim(2));
  for (std::size_t i = 0; i < values.size(); i += width) {
    check_gap(values[i]);
    if (marks == 0) continue;
    const double mark = values[i + 1];
    check(mark == kNoEvent || (mark >= 0 && mark < static_cast<double>(marks) && mark == std::floor(mark)),
          "[prediction] mark {} found, expected one of 0 … {}, or -1 for an end", mark, marks - 1);
  }
}

void check_gaps(const Tensor& gaps) {
  if (gaps.device() != Device::cpu) return;
  const Tensor here = on_host(gaps);
  for (const double value : here.values<double>()) check_gap(value);
}

}  // namespace npzoo
