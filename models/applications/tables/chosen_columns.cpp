#include "npzoo/models/applications/tables/chosen_columns.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/date_columns.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/covariate_columns.h"

namespace npzoo {

namespace {

using Names = std::vector<std::string>;

/// Names of columns as the table writes them. True if the group is none: then all rows are one series.
bool complete_names(const Table& table, ColumnChoice& wishes) {
  const auto has = [&table](const std::string& name) { return table.format().find(name).has_value(); };
  for (auto* names : {&wishes.inputs, &wishes.values, &wishes.covariates, &wishes.date})
    *names = whole_names(*names, has);
  if (wishes.group != "none" || has(wishes.group)) return false;
  wishes.group.clear();
  return true;
}

/// True if wishes say that rows have no input.
bool take_no_input(const Table& table, const ColumnsWanted& wanted, ColumnChoice& wishes) {
  if (wishes.inputs != Names{"none"} || table.format().find("none")) return false;
  wishes.inputs.clear();
  check(wanted.targets == nullptr && !wanted.adds_rows && !wanted.dim_x && wishes.covariates.empty() &&
            wishes.group.empty() && wishes.date.empty(),
        "[columns] --inputs none found with flags about inputs, groups, weights or other rows, expected --inputs to "
        "name columns");
  return true;
}

/// Inputs of words are categories.
void take_words_as_covariates(const Table& table, ColumnChoice& wishes) {
  const auto is_word = [&](const std::string& name) { return holds_words(table, table.format().column(name)); };
  std::ranges::copy_if(wishes.inputs, std::back_inserter(wishes.covariates), is_word);
  const bool any = !wishes.inputs.empty();
  std::erase_if(wishes.inputs, is_word);
  check(!any || !wishes.inputs.empty(),
        "[columns] {} has words in every column of --inputs, expected one of numbers or dates", table.format().name());
}

}  // namespace

ChosenColumns choose_to_fill(Table& table, ColumnChoice wishes, const ColumnsWanted& wanted) {
  ChosenColumns chosen{.one_series = complete_names(table, wishes)};
  const bool rows_alone = take_no_input(table, wanted, wishes);
  take_words_as_covariates(table, wishes);
  if (!rows_alone && wanted.dim_x.value_or(1) == 1) find_date_columns(table, wanted.targets, wishes);
  chosen.complete = wanted.targets == nullptr && !wanted.adds_rows && misses_nothing(table, wishes);
  if (wanted.targets != nullptr)
    chosen.columns = choose_columns(table, *wanted.targets, wishes);
  else if (rows_alone)
    chosen.columns = choose_rows(table, wishes);
  else if (chosen.complete || wanted.adds_rows)
    chosen.columns = choose_series(table, wishes, wanted.dim_x, wanted.command);
  else
    chosen.columns = choose_columns(table, wishes, wanted.dim_x);
  return chosen;
}

}  // namespace npzoo
