#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "npzoo/datasets/tables/table_format.h"

namespace npzoo {

/// Whether a cell is the name of a time zone: UTC, CET.
bool is_time_zone(std::string_view cell);

/// Whether a cell is a unit or says how a column is written: °C, kg/m3, [mm], W m-2, %, yyyy-mm-dd, UTC, Avg.
bool is_unit(std::string_view cell);

/// How many of these rows, which are right below the names of columns, are lines of units, two at most: every cell that
/// is not blank is one, and one of the first line stands above numbers or dates.
std::size_t count_unit_lines(const TableFormat& format, std::span<const std::string_view> rows);

}  // namespace npzoo
