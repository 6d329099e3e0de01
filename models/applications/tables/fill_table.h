#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/models/applications/tables/added_rows.h"
#include "npzoo/models/applications/tables/covariate_columns.h"
#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// Tables to predict from.
struct TablesToFill {
  Table table;                          // observed points; without `targets` also the rows to fill
  std::optional<Table> targets{};       // rows to predict at
  std::optional<Table> truth{};         // known values: inputs, group and values
  ColumnChoice columns{};               // wishes, see choose_columns
  bool complete = false;                // a missing value is an error
  std::optional<std::int64_t> dim_x{};  // inputs of the model, if it is known already
  bool lonlat = false;                  // the first two inputs are longitude and latitude
  AddedRows added{};                    // rows to predict instead of `targets`
  bool may_be_complete = false;         // a table without rows to predict is no error: see `nothing_to_do`
  /// Writes a command line with more flags, for messages; the flags alone by default.
  std::function<std::string(const std::string& flags)> command = [](const std::string& flags) { return flags; };
};

/// Columns of a table as numbers; dates are days (see ColumnForm).
struct TableNumbers {
  std::vector<ColumnForm> forms;       // of the inputs
  std::vector<double> x;               // (rows, Dx)
  std::vector<std::vector<double>> y;  // of each value column (rows), NaN where a value is missing
  std::vector<std::string> groups;     // names; empty without a column of groups
  std::vector<std::uint32_t> of_rows;  // the number of each row's group
};

/// Tables whose columns are chosen and read.
struct FillTables {
  Table table;
  std::optional<Table> targets{};
  ColumnChoice columns{};
  TableNumbers observed{};
  std::optional<TableNumbers> at{};          // of the targets; groups have the same numbers as in `observed`
  std::vector<std::string> groups{};         // names, by their number
  std::vector<std::vector<double>> truth{};  // of each value column, at the requested rows; empty: none
  std::optional<WithCovariates> covariates{};
  std::vector<std::string>
      helpers{};  // columns that help to predict values: a name for each array, see word_indicators
  std::vector<std::vector<double>> helper_numbers{};  // of each of them (rows)
  bool lonlat = false;
  bool has_inputs() const { return !columns.inputs.empty(); }
  std::string nothing_to_do{};  // why no row is to be predicted, and how to predict others; empty: some are

  const Table& asked() const { return targets ? *targets : table; }
  const TableNumbers& asked_numbers() const { return at ? *at : observed; }
  /// Views of the numbers. These tables must outlive it.
  FillData data() const;
  void add_helper(const std::string& name, std::vector<double> column);
};

/// Chooses columns, reads them, numbers the groups and looks up the truth of each row by its inputs and its group.
/// Throws Error, naming table, column and line, if a choice is in doubt, a cell is no such number, the rows of the
/// table are several series, a column to fill has no value, or no row is to be predicted. Inputs that hold words become
/// covariates. Unless wishes name the values, complete columns of numbers or words that are nothing else become
/// helpers.
FillTables read_fill_tables(TablesToFill tables);

/// Predicts as `fill` does. Throws Error, naming the line of the first row, if no row has a finite prediction.
FillResult fill_tables(const TrainedModel& trained, const FillTables& tables, const FillOptions& options = {});
/// The same as `fill_with_gp` does.
FillResult fill_tables_with_gp(const FillTables& tables, const FillOptions& options = {});
/// The same as `fill_rows_alone` does, for tables whose rows have no input.
FillResult fill_tables_of_rows(const FillTables& tables, const FillOptions& options = {});

/// Returns the header of the table of predictions: the columns of the rows, and mean_, std_ and quantiles of each
/// value. Throws Error if the rows have a column of that name already.
std::vector<std::string> prediction_header(const FillTables& tables, std::span<const double> quantiles);

/// Writes the rows as they stand with their figures, each with as many decimals as its standard deviation has with
/// `digits` significant digits. Rows without a finite prediction stay blank. With `facts` the report's comments come
/// first, behind `#`. The file appears with `commit()`.
std::unique_ptr<TableWriter> write_predictions(const FillTables& tables, const FillResult& result,
                                               const std::filesystem::path& path, std::int64_t digits = kStdDigits,
                                               bool facts = true);
/// Writes each row once for each sample, with the sample's number from 1 on.
std::unique_ptr<TableWriter> write_samples(const FillTables& tables, const FillResult& result,
                                           const std::filesystem::path& path, std::int64_t digits = kStdDigits,
                                           bool facts = true);

}  // namespace npzoo
