#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/task_source.h"
#include "npzoo/models/registry.h"

// Parts of pictures of tasks.

namespace npzoo::tools {

/// A model of a picture, under the name that it has there.
struct Shown {
  std::string name;
  Density density;
  std::unique_ptr<Model> model;

  bool jointly() const { return density == Density::joint; }
};

/// One task of a batch as plain numbers.
struct TaskRow {
  std::vector<double> xc, yc, xt, yt;
};

TaskRow row_of(const Task& task, std::int64_t row);

/// Points of `width` numbers as the only task of a batch: (1, n, width), float32.
Tensor one_task(std::span<const double> values, std::int64_t width);

/// A model's prediction of a row.
struct Said {
  Curve curve;
  std::vector<std::vector<double>> functions;
};

/// At points x, with the first `functions` of those that the model draws.
Said predict(const Shown& shown, const TaskRow& row, const std::vector<double>& x, Draws draws, std::int64_t functions);

}  // namespace npzoo::tools
