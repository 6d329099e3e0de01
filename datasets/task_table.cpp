#include "npzoo/datasets/task_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

template <class T>
std::string finite_cell(T number, std::int64_t task) {
  check(std::isfinite(number), "[sample] task {} has the number {}, expected finite ones: the protocol's are too large",
        task + 1, number);
  return fmt::format("{}", number);
}

/// Adds "x", or "x1" and "x2".
void add_names(std::vector<std::string>& names, char letter, std::int64_t count) {
  for (std::int64_t i = 1; i <= count; ++i)
    names.push_back(count == 1 ? std::string(1, letter) : fmt::format("{}{}", letter, i));
}

struct WrittenPoint {
  std::vector<float> x, y;
  bool given = false;
};

std::vector<float> numbers_at(const Tensor& points, std::int64_t task, std::int64_t i) {
  const auto width = static_cast<std::size_t>(points.dim(2));
  const auto row = points.values<float>().subspan(static_cast<std::size_t>(task * points.dim(1) + i) * width, width);
  return {row.begin(), row.end()};
}

std::vector<WrittenPoint> points_of(const Task& batch, std::int64_t task) {
  std::vector<WrittenPoint> points;
  const std::int64_t nc = batch.lengths.defined() ? batch.lengths.values<std::int64_t>()[task] : batch.xc.dim(1);
  for (std::int64_t i = 0; i < nc; ++i)
    points.push_back({numbers_at(batch.xc, task, i), numbers_at(batch.yc, task, i), true});
  for (std::int64_t i = 0; i < batch.xt.dim(1); ++i) {
    WrittenPoint target{numbers_at(batch.xt, task, i), numbers_at(batch.yt, task, i)};
    if (std::ranges::find(points, target.x, &WrittenPoint::x) == points.end()) points.push_back(std::move(target));
  }
  std::ranges::stable_sort(points, {}, &WrittenPoint::x);
  return points;
}

}  // namespace

void write_points(const Task& batch, bool numbered, TaskTable& table) {
  TaskTable::Columns columns;
  if (numbered) columns.place.emplace_back("task");
  add_names(columns.place, 'x', batch.xt.dim(2));
  add_names(columns.values, 'y', batch.yt.dim(2));
  table.begin(columns);
  for (std::int64_t task = 0; task < batch.xt.dim(0); ++task)
    for (const WrittenPoint& point : points_of(batch, task)) {
      TaskTable::Row row{.task = task, .given = point.given};
      if (numbered) row.place.push_back(std::to_string(task + 1));
      for (const float x : point.x) row.place.push_back(number_cell(x, task));
      for (const float y : point.y) row.values.push_back(number_cell(y, task));
      table.add(row);
    }
}

std::string number_cell(float number, std::int64_t task) { return finite_cell(number, task); }
std::string number_cell(double number, std::int64_t task) { return finite_cell(number, task); }

}  // namespace npzoo
