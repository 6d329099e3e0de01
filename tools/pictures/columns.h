#pragma once

#include "npzoo/models/applications/tables/column_help.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// Draws a row for each column that was predicted, with its gain, and in it the share of each other column. `help` is
/// of columns that were predicted together.
plot::Figure draw_column_help(const ColumnHelp& help);

}  // namespace npzoo::tools
