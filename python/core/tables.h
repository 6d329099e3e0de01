#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "npzoo/models/applications/tables/covariate_columns.h"
#include "python/core/arrays.h"

namespace npzoo::python {

using Groups = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// Whether a column is of times, whether these have a zone, the day that they count from, and whether they are times of
/// day without a date.
using Form = std::tuple<bool, bool, std::int64_t, bool>;

inline ColumnForm form_of(const Form& form) {
  const auto [time, zoned, epoch, clock] = form;
  return {
      .kind = time ? ColumnForm::Kind::time : ColumnForm::Kind::number, .zoned = zoned, .epoch = epoch, .clock = clock};
}

inline std::span<const std::uint32_t> numbers_of(const std::optional<Groups>& groups) {
  return groups ? std::span<const std::uint32_t>(groups->data(), groups->size()) : std::span<const std::uint32_t>();
}

}  // namespace npzoo::python
