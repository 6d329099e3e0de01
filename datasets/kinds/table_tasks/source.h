#pragma once

#include <memory>

#include "npzoo/datasets/kinds/table_tasks/data.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// Tasks out of the columns of a table. A task is a column of a group or, where that has more rows, a window of near
/// ones; of its known values some become targets, by a mask: half of the time, where a table has holes, the shape of
/// one of its own windows, else scattered points, gaps, or what comes last. Contexts and targets are standardised by
/// the context, as `predict` does it. Tasks of training, validation and evaluation are made of different columns (but
/// see TableData).
///
/// All tasks of a batch have as many targets; contexts are padded.
class TableSource final : public TaskSource {
 public:
  static constexpr std::int64_t kLeastContext = 3;  // points

  TableSource(std::shared_ptr<const TableData> data, std::int64_t dim_x, std::int64_t points,
              const TrainingRange& range, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  std::shared_ptr<const TableData> data_;
  std::int64_t dim_x_, points_;
  TrainingRange range_;
  SourceOptions options_;
};

}  // namespace npzoo
