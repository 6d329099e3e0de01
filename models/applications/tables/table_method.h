#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "npzoo/models/applications/tables/fill_table.h"

namespace npzoo {

/// The method that answers a table: weights, a fitted Gaussian process, or, where rows have no input, the other columns
/// of a row.
class TableMethod {
 public:
  enum class Wish : std::uint8_t {
    automatic,  // the usual weights, or a process (see usual_weights)
    weights,    // those for the inputs without the covariates
    gp
  };

  /// By the name that flags give it: auto, weights or gp.
  static Wish wish_of(std::string_view name);

  /// `named` are weights that a user chose, or null; they must outlive this. Throws Error for weights of other inputs,
  /// and for a wish or weights where rows have no input.
  TableMethod(const FillTables& tables, Wish wish, const TrainedModel* named);
  TableMethod(const TableMethod&) = delete;
  TableMethod& operator=(const TableMethod&) = delete;

  /// The weights; null if none answer.
  const TrainedModel* trained() const { return trained_; }
  /// Whether a process is fitted as well, and answers where it is clearly better (see FillOptions::compare_gp).
  bool compares() const { return compares_; }
  FillResult fill(const FillTables& tables, FillOptions options) const;

 private:
  std::optional<TrainedModel> usual_{};
  const TrainedModel* trained_;
  bool compares_ = false;
};

}  // namespace npzoo
