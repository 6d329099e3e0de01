#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill_table.h"
#include "npzoo/npzoo.h"

/// The columns of a table as cells of text.
struct npzoo_frame {
  std::string name;
  std::int64_t rows = 0;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> columns;  // cells; "": missing

  npzoo::Table table(const npzoo::CellRules& rules) const {
    return npzoo::Table::of_cells(name, header, columns, rules);
  }
};

/// A table, and the options of npzoo_set.
struct npzoo_question {
  npzoo_frame table;
  std::optional<npzoo_frame> targets;
  npzoo::ColumnChoice columns;
  npzoo::CellRules cells{.decimal = '.'};
  npzoo::AddedRows added;
  npzoo::FillOptions options;
  std::string checkpoint, model = "auto", transform, bounds;
  bool lonlat = false;

  /// The scale and the limits of the values, which the options `transform` and `bounds` describe together.
  npzoo::TransformOptions transform_options() const;
};
