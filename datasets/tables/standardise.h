#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// Takes an input from a table to a model. The ends of `from` go to those of `to`; equal intervals change nothing.
struct InputMap {
  Interval from, to;
  double scale = 1;       // units of the table per unit of the model
  bool constant = false;  // the context has one value alone, so that the scale is 1

  double operator()(double x) const { return from == to ? x : to.low + (x - from.low) / scale; }
  double inverse(double x) const { return from == to ? x : from.low + (x - to.low) * scale; }
};

/// Takes a value from a table to a model, and predictions back.
struct ValueMap {
  double shift = 0, scale = 1;
  bool constant = false;  // as in InputMap

  double operator()(double y) const { return (y - shift) / scale; }
  double mean(double of_model) const { return of_model * scale + shift; }
  double std(double of_model) const { return of_model * scale; }
  /// The same beside a mean, which is a double itself: at least the distance to the next one.
  double std(double of_model, double mean_of_model) const;
};

/// How the columns of a table are brought to the units of training. Tables are row-major.
struct Standardisation {
  std::vector<InputMap> inputs;
  std::vector<ValueMap> values;

  std::vector<double> map_inputs(std::span<const double> x) const;
  std::vector<double> map_values(std::span<const double> y) const;
};

/// Maps the range that each input column has in the context `x` (Nc, Dx) to that of training, and gives each value
/// column of `y` (Nc, Dy) mean 0 and the standard deviation of training. A column of one value is shifted alone, inputs
/// to the middle of the range; without a context nothing is changed. Throws Error, naming the column, where its extent
/// is too large or too small for a double.
Standardisation standardise(std::span<const double> x, std::span<const double> y, std::span<const std::string> x_names,
                            std::span<const std::string> y_names, const TrainingRange& range);

/// The same for predictions, where a column of one value other than 0 is divided by the size of this value: then the
/// unit of the table does not matter. Training keeps the scale 1.
Standardisation standardise_by_context(std::span<const double> x, std::span<const double> y,
                                       std::span<const std::string> x_names, std::span<const std::string> y_names,
                                       const TrainingRange& range);

/// Gives two inputs the scale of the longer one, so that a map keeps its proportions: the shorter one is in the middle of
/// the range of training. Its scale grows by up to `ratio` times. An input of one value stays as it is.
void keep_proportions(Standardisation& units, double ratio);

/// Changes nothing.
Standardisation leave_as_is(std::size_t dim_x, std::size_t dim_y, const TrainingRange& range);

/// Looks at values, column by column, as they go by: whether training showed a model such ones.
class ValueCheck {
 public:
  struct Column {
    std::int64_t outside = 0;  // further from 0 than any but one in a million is in training
    double furthest = 0;       // of these, in the units of the table; unspecified if there are none
    double mean = 0, std = 0;  // of all rows, in the units of the model
  };

  ValueCheck(const Standardisation& units, const TrainingRange& range);

  /// Row-major, in the units of the table; any number of calls.
  void add(std::span<const double> y);

  /// The largest magnitude that counts as seen in training, in the units of the model.
  double limit() const { return limit_; }
  std::int64_t rows() const { return rows_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<ValueMap> maps_;
  double limit_;
  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<double> squares_;  // sums of squared distances from the mean
};

/// Counts the inputs that leave the range of training by more than rounding explains, column by column.
class RangeCheck {
 public:
  struct Column {
    std::int64_t outside = 0;
    double furthest = 0;  // of these, in the units of the table; unspecified if there are none
    Interval seen{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};  // by the model
  };

  /// Checks targets at a distance of `reach` outside the range as well.
  RangeCheck(const Standardisation& units, const TrainingRange& range, double reach = 0);

  /// Row-major, in the units of the table; any number of calls.
  void add(std::span<const double> x);

  /// Returns the range of the inputs in training, in the units of the model.
  const Interval& inputs() const { return inputs_; }
  std::int64_t rows() const { return rows_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<InputMap> maps_;
  Interval inputs_;
  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<double> distance_;  // of the furthest, in the units of the model
};

}  // namespace npzoo
