#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_rules.h"

namespace npzoo {

/// Decides whether the rows of a table have an input, where nobody named one and there are no dates. `numbers` reads a
/// column without gaps. Returns the only column whose numbers ascend or descend from row to row, or that is called like
/// a time and holds no number twice; an empty list if rows have no input, so that their columns can only predict each
/// other; none if there is a doubt, as where a time occurs twice. With one value column only a column that is called
/// like a time is sure, or none where a column gives each row a name (`named_rows`).
std::optional<std::vector<std::string>> inputs_of_rows(
    std::span<const ColumnFacts> columns, const ColumnChoice& choice,
    const std::function<std::vector<double>(const std::string& column)>& numbers, bool named_rows = false);

/// Returns the only column of ascending numbers beside a column of texts such as 4:35 that go up and down: they are a
/// pace, and no times of day, which begin anew after many that ascend.
std::optional<std::string> input_beside_clocks(Table& table, const ColumnChoice& choice);

/// Whether a column is called like a time: year, time, t, day, hour, week, step, index or timestamp.
bool is_called_time(std::string name);

}  // namespace npzoo
