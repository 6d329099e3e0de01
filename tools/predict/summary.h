#pragma once

#include <string>

#include "npzoo/models/applications/tables/fill_table.h"

namespace npzoo::tools {

/// Describes a prediction of tables in one line: "filled 67 of 336 values of temperature by time".
std::string summary_of(const FillTables& tables, const FillResult& result);

/// Describes it before it is made: "fill 67 of 336 values of temperature by time".
std::string plan_of(const FillTables& tables);

}  // namespace npzoo::tools
