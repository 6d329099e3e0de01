#pragma once

#include "npzoo/datasets/permutation.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/random.h"
#include "tests/small_protocol.h"

// A kind of tasks of tests alone: a finite set of lines with two values a point, of which no truth is known. It shows
// what any kind is held to.

namespace npzoo::testing {

class Lines final : public TaskSource {
 public:
  Lines(std::int64_t items, std::int64_t points, double steepness, const SourceOptions& options)
      : items_(items), points_(points), steepness_(steepness), options_(options) {}

  Batch batch(std::uint64_t index) const override {
    const std::vector<std::int64_t> items = items_of(index);
    const std::int64_t rows = std::ssize(items), nc = points_ / 3;
    Tensor x = Tensor::empty({rows, points_, 1}, DType::float64, Device::cpu);
    Tensor y = Tensor::empty({rows, points_, 2}, DType::float64, Device::cpu);
    for (std::int64_t row = 0; row < rows; ++row) {
      Random random(1, static_cast<std::uint64_t>(items[static_cast<std::size_t>(row)]));
      const double slope = random.uniform(-steepness_, steepness_), height = random.uniform(-1, 1);
      for (std::int64_t i = row * points_; i < (row + 1) * points_; ++i) {
        const double at = random.uniform(-1, 1);
        x.data<double>()[i] = at;
        y.data<double>()[2 * i] = height + slope * at;
        y.data<double>()[2 * i + 1] = height - slope * at;
      }
    }
    const Task task{leading(x, 0, nc), leading(y, 0, nc), leading(x, nc, points_), leading(y, nc, points_)};
    return {task.to(options_.device)};
  }
  std::optional<std::int64_t> size() const override {
    if (options_.split == Split::training) return {};
    return (items_ + options_.batch_size - 1) / options_.batch_size;
  }
  Device device() const override { return options_.device; }

 private:
  std::vector<std::int64_t> items_of(std::uint64_t index) const {
    if (options_.split == Split::training) return items_of_batch(items_, options_.batch_size, options_.seed, index);
    std::vector<std::int64_t> items;
    const std::int64_t first = static_cast<std::int64_t>(index) * options_.batch_size;
    for (std::int64_t i = first; i < std::min(first + options_.batch_size, items_); ++i) items.push_back(i);
    return items;
  }
  Tensor leading(const Tensor& t, std::int64_t first, std::int64_t end) const {
    Tensor part = Tensor::empty({t.dim(0), end - first, t.dim(2)}, DType::float64, Device::cpu);
    for (std::int64_t row = 0; row < t.dim(0); ++row)
      std::copy_n(t.data<double>() + (row * points_ + first) * t.dim(2), (end - first) * t.dim(2),
                  part.data<double>() + row * (end - first) * t.dim(2));
    return part.to(options_.dtype);
  }

  std::int64_t items_, points_;
  double steepness_;
  SourceOptions options_;
};

class LinesConfig final : public TaskConfig {
 public:
  LinesConfig(std::int64_t items, std::int64_t points, double steepness)
      : items_(items), points_(points), steepness_(steepness) {}

  static std::shared_ptr<const TaskConfig> read(TomlReader& data) {
    const std::int64_t items = data.integer("items", "lines", 1),
                       points = data.integer("points", "points of a line", 3, 100);
    return std::make_shared<const LinesConfig>(items, points, data.number("steepness", "largest slope", kPositive));
  }

  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 2; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<Lines>(items_, points_, steepness_, options);
  }
  /// A test may have steeper lines, and need not.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    const double steepness = test.has("steepness") ? test.number("steepness", "largest slope", kPositive) : steepness_;
    return std::make_shared<const LinesConfig>(items_, points_, steepness);
  }
  TaskExtents typical_extents() const override { return {points_ / 3, points_ - points_ / 3}; }
  TrainingRange training_range() const override {
    return {.inputs = {-1, 1}, .min_context = points_ / 3, .max_context = points_ / 3};
  }

 private:
  std::int64_t items_, points_;
  double steepness_;
};

constexpr TaskFamily kLines{"lines", LinesConfig::read};

/// `extra` stands in the table of its test.
inline std::string lines_protocol(const std::string& extra = "") {
  constexpr const char* kData = R"(kind = "lines"
items = 10
points = 9
steepness = 1.0
)";
  return small_protocol("lines", kData, extra);
}

}  // namespace npzoo::testing
