#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "npzoo/models/applications/tables/complete_data.h"
#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// A method at work on one table.
class MethodRun {
 public:
  virtual ~MethodRun() = default;

  virtual SeriesMethod& series() = 0;
  /// The same without progress, quantiles and samples, for choices that compare predictions.
  virtual std::unique_ptr<SeriesMethod> quiet_series() const = 0;
  /// The inputs and contexts that it was made for.
  virtual TrainingRange range() const = 0;
  /// Completes an answer that has columns, names and the tally of its series, with facts for the report, and with
  /// figures of rows that it knows better than `series` does. Returns reasons to doubt.
  virtual std::vector<Warning> finish(const TableQuestion& question, FillResult& result) = 0;
};

/// A way to predict the value columns of a table. `fill` puts around it what all methods share: checks, transforms,
/// linear parts, the help of other columns, scores and warnings. A new method is a pair of these classes.
class Method {
 public:
  /// Inputs that are not for the method: `fill` gives it those of a PlainTable.
  struct NotTaken {
    bool places = false;          // longitude and latitude
    std::int64_t covariates = 0;  // the last inputs
  };

  virtual ~Method() = default;

  virtual WeightsUsed weights() const = 0;
  /// The model whose device computes; null: none.
  virtual const Model* model() const = 0;
  /// The seed of random numbers where the options have none.
  virtual std::uint64_t usual_seed() const = 0;
  /// Whether other columns of a row may change an answer (see help_columns).
  virtual bool columns_help() const = 0;
  virtual NotTaken not_taken(const FillData& data) const = 0;
  /// Throws Error for data and options without an answer, and says why.
  virtual void check(const CompleteData& c, const FillOptions& options) const = 0;
  /// `c` has no inputs that are not taken. It and `options` must live as long as the result.
  virtual std::unique_ptr<MethodRun> run(const CompleteData& c, const FillOptions& options) const = 0;
};

/// Weights for tables.
class WeightsMethod : public Method {
 public:
  explicit WeightsMethod(const TrainedModel& trained) : trained_(trained) {}

  WeightsUsed weights() const override { return weights_used(trained_.checkpoint); }
  const Model* model() const override { return trained_.model.get(); }
  std::uint64_t usual_seed() const override { return trained_.checkpoint.run.seed; }
  bool columns_help() const override { return trained_.model->dim_y() == 1; }
  NotTaken not_taken(const FillData& data) const override;
  void check(const CompleteData& c, const FillOptions& options) const override;
  std::unique_ptr<MethodRun> run(const CompleteData& c, const FillOptions& options) const override;

 private:
  const TrainedModel& trained_;
};

/// A Gaussian process, fitted to each series.
class GpMethod : public Method {
 public:
  WeightsUsed weights() const override { return {.model = std::string(kGaussianProcess)}; }
  const Model* model() const override { return nullptr; }
  std::uint64_t usual_seed() const override { return 0; }
  bool columns_help() const override { return false; }
  NotTaken not_taken(const FillData&) const override { return {}; }
  void check(const CompleteData& c, const FillOptions& options) const override;
  std::unique_ptr<MethodRun> run(const CompleteData& c, const FillOptions& options) const override;
};

}  // namespace npzoo
