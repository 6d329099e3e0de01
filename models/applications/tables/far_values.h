#pragma once

#include <vector>

#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// Data without the values that lie more than kFarFromAll deviations from all others of their series, which are
/// predicted like missing ones: beside them all others look alike. A transform that was asked for keeps them.
class FarValues {
 public:
  /// `data` is complete (see CompleteData) and must outlive this.
  FarValues(const FillData& data, const FillOptions& options);
  FarValues(const FarValues&) = delete;
  FarValues& operator=(const FarValues&) = delete;

  const FillData& data() const { return data_; }
  /// Warns of values that were left out.
  void finish(FillResult& result) const;

 private:
  void leave_out(std::size_t column);

  FillData data_;
  std::vector<std::vector<double>> values_{}, truth_{};  // without those values; empty: as they are given
  FarPoints far_{};
  std::int64_t series_ = 0;
  bool many_ = false;  // different ones in a series
};

}  // namespace npzoo
