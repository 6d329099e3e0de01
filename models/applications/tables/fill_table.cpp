#include "npzoo/models/applications/tables/fill_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/datasets/tables/matching_rows.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/models/applications/tables/chosen_columns.h"
#include "npzoo/models/applications/tables/fill_rows.h"
#include "npzoo/models/applications/tables/lead_on.h"
#include "npzoo/models/applications/tables/understood.h"
#include "npzoo/models/applications/tables/word_indicators.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

namespace {

std::vector<std::size_t> positions(const Table& table, std::span<const std::string> names) {
  std::vector<std::size_t> found;
  for (const std::string& name : names) found.push_back(table.format().column(name));
  return found;
}

HasColumn columns_of(const Table& table) {
  return [&table](const std::string& name) { return table.format().find(name).has_value(); };
}

std::vector<std::string> groups_of(const Table& table, const ColumnChoice& columns) {
  return group_names(columns.group, columns_of(table));
}

/// How columns are read.
struct NumberRules {
  std::span<const std::string> values;
  bool complete = false;                // no value may be missing
  std::span<const ColumnForm> forms{};  // of the inputs of another table, whose days count from the same one
};

/// The forms of input columns: those of another table from the `skipped`-th on, if there are any. Dates may be written
/// in another way.
std::vector<ColumnForm> input_forms(const Table& table, std::span<const std::size_t> columns,
                                    std::span<const ColumnForm> others, std::size_t skipped) {
  std::vector<ColumnForm> own = table.input_forms(columns);
  for (std::size_t i = 0; i < own.size() && !others.empty(); ++i) {
    const ColumnForm written = own[i];
    own[i] = others[skipped + i];
    if (written.order != DateOrder::unknown) own[i].order = written.order;
    if (written.shape != 0) own[i].shape = written.shape;
  }
  return own;
}

TableNumbers read_numbers(Table& table, const ColumnChoice& columns, const NumberRules& rules) {
  const std::size_t dim_x = columns.inputs.size(), joined = columns.date.empty() ? 0 : 1;
  std::vector<std::size_t> required = positions(table, std::span(columns.inputs).subspan(joined)), all = required;
  for (const std::size_t at : positions(table, rules.values)) all.push_back(at);
  if (rules.complete) required = all;
  std::vector<NumberColumn> found =
      table.numbers(all, input_forms(table, std::span(all).first(dim_x - joined), rules.forms, joined), required);
  if (joined > 0) {
    const ColumnForm form = rules.forms.empty() ? ColumnForm() : rules.forms[0];
    found.insert(found.begin(), table.joined_times(positions(table, columns.date), form));
    all.insert(all.begin(), table.format().column(columns.date[0]));
  }
  TableNumbers numbers;
  for (std::size_t i = 0; i < dim_x; ++i) numbers.forms.push_back(found[i].form);
  numbers.x.resize(static_cast<std::size_t>(table.rows()) * dim_x);
  for (std::size_t i = 0; i < dim_x; ++i) {
    for (std::size_t row = 0; row < found[i].values.size(); ++row) numbers.x[row * dim_x + i] = found[i].values[row];
    found[i].values = {};
  }
  for (std::size_t i = dim_x; i < found.size(); ++i) {
    check(found[i].form.kind != ColumnForm::Kind::time,
          "[predict] {}: column {} holds dates, expected numbers to predict", table.format().name(),
          table.format().title(all[i]));
    numbers.y.push_back(std::move(found[i].values));
  }
  if (!columns.group.empty()) {
    Table::Labels labels = table.labels(positions(table, groups_of(table, columns)));
    numbers.groups = std::move(labels.names);
    numbers.of_rows = std::move(labels.of_rows);
  }
  return numbers;
}

/// Gives the groups of `other` the numbers that they have in `first`, and new ones to those that it lacks.
void renumber(std::vector<std::string>& first, TableNumbers& other) {
  const GroupNumbers all = number_groups(first, other.groups);
  for (std::uint32_t& g : other.of_rows) g = all.of_targets[g];
  first = all.names;
}

/// Looks up the values of the requested rows.
std::vector<std::vector<double>> read_truth(Table& table, const FillTables& tables) {
  const ColumnChoice& columns = tables.columns;
  const TableNumbers& asked = tables.asked_numbers();
  const TableNumbers known = read_numbers(table, columns, {columns.values, false, asked.forms});
  const std::vector<std::int64_t> rows =
      matching_rows({asked.x, tables.groups, asked.of_rows}, {known.x, known.groups, known.of_rows},
                    std::ssize(columns.inputs), table.format().name());
  std::vector<std::vector<double>> truth(known.y.size());
  bool any = false;
  for (std::size_t v = 0; v < truth.size(); ++v)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double y =
          rows[i] < 0 ? std::numeric_limits<double>::quiet_NaN() : known.y[v][static_cast<std::size_t>(rows[i])];
      truth[v].push_back(y);
      const bool observed = !tables.targets && !std::isnan(tables.observed.y[v][i]);
      any = any || !(observed || std::isnan(y));
    }
  check(any, "[truth] {} has none of the predicted values, expected rows with the same {}", table.format().name(),
        fmt::join(columns.inputs, ", "));
  return truth;
}

/// Reads the columns that no choice names and that may help: numbers, and words that tell kinds of rows apart.
void read_helpers(FillTables& tables) {
  const std::vector<std::string> numbers = helping_columns(tables.table, tables.columns);
  std::vector<NumberColumn> read = tables.table.numbers(positions(tables.table, numbers), {}, {});
  for (std::size_t i = 0; i < numbers.size(); ++i) tables.add_helper(numbers[i], std::move(read[i].values));
  for (const std::string& name : helping_words(tables.table, tables.columns)) {
    const std::size_t at = tables.table.format().column(name);
    if (!holds_words(tables.table, at)) continue;
    for (std::vector<double>& column : word_indicators(tables.table.words(at).of_rows))
      tables.add_helper(name, std::move(column));
  }
}

/// `pooled`: all rows are one series.
void check_observed(FillTables& tables, bool pooled) {
  const ColumnChoice& columns = tables.columns;
  const TableNumbers& observed = tables.observed;
  if (!pooled && tables.has_inputs())
    check_one_series(tables.table, columns, {observed.x, observed.groups, observed.of_rows}, observed.forms[0]);
  for (std::size_t v = 0; v < observed.y.size() && !tables.targets; ++v)
    check(!std::ranges::all_of(observed.y[v], [](double y) { return std::isnan(y); }),
          "[predict] {} has no value in {}, expected some rows with one", tables.table.format().name(),
          in_quotes(columns.values[v]));
}

TableStyle style_of(const Table& table) { return {table.format().separator(), table.decimal_sign()}; }

/// Names the rows by the line of their table, for a message.
std::string line_of(const Table& table, std::int64_t row) {
  return fmt::format("[{}:{}]", table.format().name(), table.line(row));
}

/// Rounds a figure of value column `v` to its standard deviation or, near a limit, to the distance from that: a skewed
/// distribution is narrow there.
double rounded(const FillResult& result, std::size_t v, std::size_t row, double value, std::int64_t digits) {
  double size = result.columns[v].std[row];
  if (const ValueTransform& t = result.transforms[v]; t.kind != ValueTransform::Kind::none)
    for (const double limit : {t.low, t.high})
      if (value != limit) size = std::min(size, std::abs(value - limit));
  return round_to_std(value, size, digits);
}

/// The figures of a row, in the order of the columns.
void figures_of(const FillResult& result, std::size_t row, std::int64_t digits, std::vector<double>& numbers) {
  numbers.clear();
  const std::size_t values = result.columns.size(), quantiles = result.quantiles.size();
  for (std::size_t v = 0; v < values; ++v)
    numbers.push_back(rounded(result, v, row, result.columns[v].mean[row], digits));
  for (std::size_t v = 0; v < values; ++v)
    numbers.push_back(round_to_std(result.columns[v].std[row], result.columns[v].std[row], digits));
  for (std::size_t q = 0; q < quantiles; ++q)
    for (std::size_t v = 0; v < values; ++v)
      numbers.push_back(rounded(result, v, row, result.columns[v].quantiles[row * quantiles + q], digits));
}

/// Columns called lat and lon are what they say, in either order.
void put_longitude_first(ColumnChoice& columns) {
  std::vector<std::string>& inputs = columns.inputs;
  if (inputs.size() > 1 && is_latitude(inputs[0]) && is_longitude(inputs[1])) std::swap(inputs[0], inputs[1]);
}

/// Names lines of the table that are no rows.
void warn_of_passed_lines(const Table& table, FillResult& result) {
  if (const std::int64_t units = table.unit_lines(); units > 0)
    result.warnings.push_back(
        {"skipped lines", fmt::format("[{}:{}] {} of units below the names skipped", table.format().name(),
                                      table.line(0) - units, units == 1 ? "1 line" : fmt::format("{} lines", units))});
  if (table.passed().empty()) return;
  std::int64_t lines = 0;
  for (const Table::PassedLines& passed : table.passed()) lines += passed.count;
  result.warnings.push_back(
      {"skipped lines",
       fmt::format("[{}:{}] {} between rows skipped: blank lines, comments and repeated names", table.format().name(),
                   table.passed()[0].first, lines == 1 ? "1 line" : fmt::format("{} lines", lines))});
}

/// Adds how the table was understood, and names the lines of rows without a prediction.
FillResult with_lines(const FillTables& tables, FillResult result) {
  const Table& asked = tables.asked();
  result.report.table = understood(tables);
  if (result.unanswered > 0) {
    check(result.unanswered < asked.rows(),
          "{} the prediction is {}, expected a finite number: inputs or values are too large for the model",
          line_of(asked, result.first_unanswered), std::isnan(result.first_odd) ? "no number" : "infinite");
    const std::string others =
        result.unanswered == 1 ? " has" : fmt::format(" and {} others have", result.unanswered - 1);
    result.warnings.back().text =
        fmt::format("{}{} no prediction, so that the cells are blank: inputs or values are too large for the model",
                    line_of(asked, result.first_unanswered), others);
  }
  warn_of_passed_lines(tables.table, result);
  const auto place = [&](std::int64_t row) { return fmt::format("line {}", tables.table.line(row)); };
  if (auto runs = warning_of_runs(tables.data(), place)) result.warnings.push_back(std::move(*runs));
  return result;
}

}  // namespace

void FillTables::add_helper(const std::string& name, std::vector<double> column) {
  helpers.push_back(name);
  helper_numbers.push_back(std::move(column));
}

FillData FillTables::data() const {
  FillData d{.dim_x = std::ssize(columns.inputs),
             .x = observed.x,
             .values = as_columns(observed.y),
             .groups = observed.of_rows,
             .truth = as_columns(truth),
             .x_names = columns.inputs,
             .value_names = columns.values,
             .x_forms = observed.forms,
             .group_name = columns.group,
             .group_labels = groups,
             .helpers = as_columns(helper_numbers),
             .helper_names = helpers};
  if (at) {
    d.targets = at->x;
    d.target_groups = at->of_rows;
  }
  d.lonlat = lonlat;
  return covariates ? covariates->data(std::move(d)) : d;
}

FillTables read_fill_tables(TablesToFill tables) {
  return with_errors([&] {
    check(tables.table.rows() > 0, "[predict] {} has no rows, expected observed points", tables.table.format().name());
    const Table* targets = tables.targets ? &*tables.targets : nullptr;
    const bool no_values_named = tables.columns.values.empty();
    ChosenColumns chosen = choose_to_fill(
        tables.table, std::move(tables.columns),
        {.targets = targets, .dim_x = tables.dim_x, .adds_rows = tables.added.any(), .command = tables.command});
    const bool complete = chosen.complete;
    FillTables read{.table = std::move(tables.table),
                    .targets = std::move(tables.targets),
                    .columns = std::move(chosen.columns),
                    .lonlat = tables.lonlat};
    if (read.lonlat) put_longitude_first(read.columns);
    check_marks(read.table, read.columns.values);
    read.observed = read_numbers(read.table, read.columns, {read.columns.values, tables.complete, {}});
    check_observed(read, chosen.one_series);
    read.groups = read.observed.groups;
    if (complete) read.nothing_to_do = lead_on(read, far_number_hint(read.table, read.columns.values), tables.command);
    check(!complete || tables.may_be_complete, "[predict] {}", read.nothing_to_do);
    if (tables.added.any()) {
      add_rows(read, tables.added);
    } else if (read.targets) {
      read.at = read_numbers(*read.targets, read.columns, {{}, false, read.observed.forms});
      renumber(read.groups, *read.at);
    }
    const bool all_columns = no_values_named || !read.has_inputs();
    if (!read.at && !complete && all_columns) read_helpers(read);
    check(read.has_inputs() || !tables.truth,
          "[truth] {} has rows without an input, expected --inputs to match rows with those of the truth",
          read.table.format().name());
    if (!read.columns.covariates.empty()) {
      Table* targets = read.targets ? &*read.targets : nullptr;
      CovariateColumns covariates = read_covariates(read.table, targets, read.columns.covariates);
      read.covariates.emplace(read.data(), std::move(covariates));
    }
    if (tables.truth) read.truth = read_truth(*tables.truth, read);
    return read;
  });
}

FillResult fill_tables(const TrainedModel& trained, const FillTables& tables, const FillOptions& options) {
  return with_errors([&] { return with_lines(tables, fill(trained, tables.data(), options)); });
}

FillResult fill_tables_with_gp(const FillTables& tables, const FillOptions& options) {
  return with_errors([&] { return with_lines(tables, fill_with_gp(tables.data(), options)); });
}

FillResult fill_tables_of_rows(const FillTables& tables, const FillOptions& options) {
  return with_errors([&] { return with_lines(tables, fill_rows_alone(tables.data(), options)); });
}

std::vector<std::string> prediction_header(const FillTables& tables, std::span<const double> quantiles) {
  std::vector<std::string> prefixes{"mean_", "std_"};
  for (const double p : quantiles) prefixes.push_back(fmt::format("q{}_", p));
  const TableFormat& format = tables.asked().format();
  return prediction_header({}, format.header(), prefixes, tables.columns.values, format.name());
}

std::unique_ptr<TableWriter> write_predictions(const FillTables& tables, const FillResult& result,
                                               const std::filesystem::path& path, std::int64_t digits, bool facts) {
  return with_errors([&] {
    const Table& asked = tables.asked();
    auto out =
        std::make_unique<TableWriter>(path, prediction_header(tables, result.quantiles),
                                      facts ? result.report.comments() : std::vector<std::string>(), style_of(asked));
    std::vector<double> numbers;
    for (std::int64_t row = 0; row < asked.rows(); ++row) {
      figures_of(result, static_cast<std::size_t>(row), digits, numbers);
      if (result.answered[static_cast<std::size_t>(row)])
        out->write(asked.text(row), numbers);
      else
        out->write_blank(asked.text(row), numbers.size());
    }
    return out;
  });
}

std::unique_ptr<TableWriter> write_samples(const FillTables& tables, const FillResult& result,
                                           const std::filesystem::path& path, std::int64_t digits, bool facts) {
  return with_errors([&] {
    const Table& asked = tables.asked();
    std::vector<std::string> comments = result.report.comments(), names = tables.columns.values;
    comments.push_back(
        fmt::format("samples: {} of {}", result.samples,
                    result.density == Density::marginal ? "each target by itself" : "all targets together"));
    if (!facts) comments.clear();
    if (!tables.targets)  // its columns have these names already
      for (std::string& name : names) name = "sample_" + name;
    auto out = std::make_unique<TableWriter>(
        path, sample_header(asked.header(), names, asked.format().name(), tables.table.format().name()), comments,
        style_of(asked));
    const auto count = static_cast<std::size_t>(result.samples);
    std::vector<double> numbers;
    for (std::int64_t row = 0; row < asked.rows(); ++row)
      for (std::size_t k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(row);
        numbers.assign(1, static_cast<double>(k + 1));
        for (std::size_t v = 0; v < result.columns.size(); ++v)
          numbers.push_back(rounded(result, v, at, result.columns[v].samples[at * count + k], digits));
        if (result.answered[at])
          out->write(asked.text(row), numbers);
        else
          out->write_blank(asked.text(row), numbers.size());
      }
    out->flush();
    return out;
  });
}

}  // namespace npzoo
