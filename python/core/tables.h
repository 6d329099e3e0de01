#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "npzoo/models/applications/tables/covariate_columns.h"
#include "python/core/arrays.h"

namespace npzoo::python {

using Groups = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// Whether a column is of times, whether these have a zone, and the day that they count from.
using Form = std::tuple<bool, bool, std::int64_t>;

inline ColumnForm form_of(const Form& form) {
  const auto [time, zoned, epoch] = form;
  return {.kind = time ? ColumnForm::Kind::time : ColumnForm::Kind::number, .zoned = zoned, .epoch = epoch};
}

inline std::span<const std::uint32_t> numbers_of(const std::optional<Groups>& groups) {
  return groups ? std::span<const std::uint32_t>(groups->data(), groups->size()) : std::span<const std::uint32_t>();
}

}  // namespace npzoo::python
