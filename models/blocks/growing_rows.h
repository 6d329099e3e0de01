#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Arrays (B, N, ·) of points that grow at their end, all of them alike: the keys and values of a context that keeps
/// growing. Rows that are there never change, so a copy may be read while another one grows, on any thread.
///
/// A copy shares the memory. The first copy that grows writes behind the shared rows; the others then copy them. Each
/// copy of all rows doubles the room, so that appending a row costs the same however many there are. While a recording
/// is on, arrays are joined by recorded operations instead.
class GrowingRows {
 public:
  GrowingRows() = default;
  explicit GrowingRows(std::size_t arrays) : arrays_(arrays) {}

  std::size_t arrays() const { return arrays_.size(); }
  /// Number of points.
  std::int64_t count() const { return count_; }
  /// Returns rows for `more` points at the end of these. Each array must then be given them by `append`, once.
  GrowingRows grown(std::int64_t more) const;
  /// The same, in memory of its own without room for more.
  GrowingRows joined(std::int64_t more) const;
  /// Appends (B, more, C) to array i, and returns it: see `operator[]`.
  const Tensor& append(std::size_t i, const Tensor& part);
  /// Replaces array i by one of exactly `count` points.
  void replace(std::size_t i, Tensor whole) { arrays_[i] = std::move(whole); }
  /// Array i, (B, room, C). Its first `count` points are these; what is behind them must not be read.
  const Tensor& operator[](std::size_t i) const { return arrays_[i]; }
  /// Array i without the room behind its points.
  Tensor points(std::size_t i) const;

 private:
  enum class Growth : std::uint8_t { joined, in_place, moved };

  std::vector<Tensor> arrays_;
  std::int64_t count_ = 0, before_ = 0;              // points, and those before the last growth
  std::int64_t room_ = 0;                            // of each array; what is joined has none to spare
  std::shared_ptr<std::atomic<std::int64_t>> used_;  // rows of the shared memory that some copy has taken
  Growth growth_ = Growth::joined;
};

}  // namespace npzoo
