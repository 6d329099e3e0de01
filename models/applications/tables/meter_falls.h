#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// Data whose meters go on where they start anew. A meter is a series of one input that never falls but once, and then
/// to less than half, by far more than it rises anywhere. Behind the fall its values are raised so that it goes on with
/// its usual rise: a curve through the fall would bend all predictions beside it. A transform or a limit that was asked
/// for keeps the values.
class MeterFalls {
 public:
  /// `data` is complete (see CompleteData) and must outlive this.
  MeterFalls(const FillData& data, const FillOptions& options);
  MeterFalls(const MeterFalls&) = delete;
  MeterFalls& operator=(const MeterFalls&) = delete;

  const FillData& data() const { return data_; }
  /// Lowers predictions behind falls again, and names the falls. Missing values between the last one before and the
  /// first one behind a fall may be of either side: the closer a place is to the latter, the likelier it is behind.
  void finish(FillResult& result) const;

 private:
  struct Fall {
    std::size_t column;
    std::uint32_t group;
    double last_x, first_x;      // the inputs around it
    double last, first, raised;  // the values around it, and how far those behind it are raised

    /// The probability that a place is behind the fall.
    double behind(double x) const;
  };
  void look_at(std::size_t column);
  void raise();
  void lower(const Fall& fall, FillResult& result) const;
  std::span<const double> places() const { return data_.targets ? *data_.targets : data_.x; }
  std::uint32_t group_of_place(std::size_t place) const;
  std::uint32_t group_of_row(std::size_t row) const { return data_.groups.empty() ? 0 : data_.groups[row]; }

  FillData data_;
  std::vector<Fall> falls_{};
  std::vector<std::vector<double>> values_{}, truth_{};  // raised; empty: as they are given
};

}  // namespace npzoo
