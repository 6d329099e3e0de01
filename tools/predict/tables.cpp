#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>

#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/models/applications/tables/table_method.h"
#include "npzoo/models/applications/tables/understood.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/own_program.h"
#include "tools/cli/progress.h"
#include "tools/pictures/columns.h"
#include "tools/predict/application.h"
#include "tools/predict/picture.h"
#include "tools/predict/summary.h"
#include "tools/predict/tables_json.h"

namespace npzoo::tools {

namespace {

/// The exit status if some rows have no finite prediction; the others are written.
constexpr int kUnansweredExit = 3;

constexpr std::int64_t kMostAhead = 1'000'000;

FillTables read_tables(const PredictOptions& c, std::optional<std::int64_t> dim_x) {
  Progress progress("read", 0, {.unit = "rows", .passing = true});
  const Table::Options options{
      .progress = [&](std::int64_t rows) { progress.update(rows); }, .skip_rows = c.skip_rows, .cells = c.cells};
  TablesToFill tables{.table = Table::read(c.table, options),
                      .columns = c.columns,
                      .complete = c.strict,
                      .dim_x = dim_x,
                      .lonlat = c.lonlat,
                      .added = {.horizon = c.steps_ahead(kMostAhead), .grid = c.grid, .absent = c.add_rows},
                      .may_be_complete = c.explain,
                      .command = command_line_with};
  if (!c.targets.empty()) tables.targets = Table::read(c.targets, options);
  if (!c.truth.empty()) tables.truth = Table::read(c.truth, {.skip_rows = c.skip_rows, .cells = c.cells});
  return read_fill_tables(std::move(tables));
}

constexpr std::size_t kMostPanels = 20;

void check_pictures(const PredictOptions& c, const FillTables& tables) {
  if (!c.plot_columns.empty()) {
    plot::format_of(c.plot_columns);
    check_drawn_names(c.plot_columns, tables.columns.values);
    check_drawn_names(c.plot_columns, tables.helpers);
    check_drawn_names(c.plot_columns, tables.groups);
  }
  if (c.plot.empty()) return;
  plot::format_of(c.plot);
  const ColumnChoice& columns = tables.columns;
  check(tables.has_inputs(), "[plot] {} has rows without an input, expected --inputs, or --plot-columns",
        c.table.string());
  check(columns.inputs.size() <= 2, "[plot] {} has {} inputs, {}, expected one or two", c.table.string(),
        columns.inputs.size(), fmt::join(columns.inputs, ", "));
  check_drawn_names(c.plot, columns.inputs);
  check_drawn_names(c.plot, columns.values);
  check(columns.values.size() <= kMostPanels, "[plot] {} has {} columns of values, expected at most {} in a picture",
        c.table.string(), columns.values.size(), kMostPanels);
  const std::int64_t most = most_drawn_rows(columns.inputs.size());
  for (const Table* table : {&tables.table, &tables.asked()})
    check(table->rows() <= most, "[plot] {} has {} rows, expected at most {} in a picture", table->format().name(),
          table->rows(), most);
}

/// The groups that a picture has room for, from the first one on.
std::vector<std::string> drawn_groups(const PredictOptions& c, const FillTables& tables) {
  constexpr std::size_t kMostGroups = 12;
  const std::vector<std::string>& groups = tables.groups;
  const std::size_t room = std::max<std::size_t>(1, kMostPanels / tables.columns.values.size());
  const std::vector<std::string> drawn(
      groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(std::min({groups.size(), room, kMostGroups})));
  check_drawn_names(c.plot, drawn);
  return drawn;
}

/// Draws sampled paths behind the ends of series, and on request what other methods forecast.
void draw_ends(PredictionPicture& picture, const PredictOptions& c, const FillTables& tables, const FillResult& result,
               std::size_t groups) {
  constexpr std::int64_t kUsualPaths = 5, kMostPaths = 20;
  const std::int64_t paths = c.samples > 0 ? std::min(c.samples, kMostPaths) : kUsualPaths;
  for (const TableEnd& end : result.ends) {
    if (static_cast<std::size_t>(end.group) >= groups) continue;
    const std::size_t panel = static_cast<std::size_t>(end.group) * tables.columns.values.size() + end.column;
    picture.limit(panel, {end.transform.low, end.transform.high});
    plot::Series line;
    for (const std::int64_t row : end.rows) line.x.push_back(tables.asked_numbers().x[static_cast<std::size_t>(row)]);
    const std::vector<double> drawn = end.paths(paths);
    for (auto from = drawn.begin(); from != drawn.end(); from += std::ssize(line.x)) {
      line.y.assign(from, from + std::ssize(line.x));
      picture.add_path(panel, line);
    }
    if (!c.baselines) continue;
    for (const EndMethod method : kPlainEndMethods) {
      line.y.clear();
      for (std::size_t i = 0; i < line.x.size(); ++i) line.y.push_back(end.median(end.forecast.of(method), i));
      picture.add_other(panel, {std::string(name_of(method)), line});
    }
  }
}

/// Draws a panel for each value of each of `groups`.
void draw(PredictionPicture& picture, const PredictOptions& c, const FillTables& tables, const FillResult& result,
          std::size_t groups) {
  const TableNumbers &observed = tables.observed, &asked = tables.asked_numbers();
  const std::size_t dim_x = tables.columns.inputs.size(), values = tables.columns.values.size(),
                    shown = std::max<std::size_t>(1, groups);
  const auto group_of = [](const TableNumbers& rows, std::size_t i) {
    return rows.of_rows.empty() ? 0 : rows.of_rows[i];
  };
  for (std::size_t v = 0; v < values; ++v) {
    for (std::size_t g = 0; g < shown; ++g)
      picture.limit(g * values + v,
                    {c.transform.counts ? std::max(c.transform.low, 0.0) : c.transform.low, c.transform.high});
    for (std::size_t i = 0; i < observed.y[v].size(); ++i)
      if (const std::size_t g = group_of(observed, i); g < shown && !std::isnan(observed.y[v][i]))
        picture.add_context(g * values + v, std::span(observed.x).subspan(i * dim_x, dim_x), observed.y[v][i]);
    for (std::size_t i = 0; i < asked.x.size() / dim_x; ++i)
      if (const std::size_t g = group_of(asked, i); result.answered[i] && g < shown)
        picture.add(g * values + v, std::span(asked.x).subspan(i * dim_x, dim_x), result.columns[v].mean[i],
                    result.columns[v].std[i]);
    if (tables.truth.empty() || dim_x > 1) continue;
    for (std::size_t i = 0; i < tables.truth[v].size(); ++i)
      if (const std::size_t g = group_of(asked, i); g < shown && !std::isnan(tables.truth[v][i]))
        picture.add_truth(g * values + v, asked.x[i], tables.truth[v][i]);
  }
  draw_ends(picture, c, tables, result, shown);
  picture.draw();
}

bool help_together(const FillResult& result) { return result.report.help && result.report.help->together(); }

/// Tables of predictions and samples, and the pictures: all appear, or none.
class Outputs {
 public:
  Outputs(const PredictOptions& c, const FillTables& tables, const FillResult& result,
          const std::vector<std::string>& groups) {
    if (!c.out.empty()) predictions_ = write_predictions(tables, result, c.out, c.digits, c.header);
    if (c.samples > 0) samples_ = write_samples(tables, result, c.samples_out, c.digits, c.header);
    draw_columns(c, result);
    if (c.plot.empty()) return;
    std::vector<PictureAxis> axes;
    for (std::size_t i = 0; i < tables.columns.inputs.size(); ++i)
      axes.push_back({tables.columns.inputs[i], tables.observed.forms[i]});
    std::vector<std::string> panels;
    for (const std::string& group : groups)
      for (const std::string& name : tables.columns.values) panels.push_back(fmt::format("{}, {}", name, group));
    const std::string by = result.ends.empty() ? result.weights.model : "npzoo";  // a combination forecasts the ends
    picture_.emplace(c.plot, by, axes, groups.empty() ? tables.columns.values : panels);
    draw(*picture_, c, tables, result, groups.size());
  }

  void commit() {
    if (predictions_) predictions_->commit();
    if (samples_) samples_->commit();
    if (picture_) picture_->commit();
    if (columns_) columns_->commit();
  }

 private:
  void draw_columns(const PredictOptions& c, const FillResult& result) {
    if (c.plot_columns.empty() || !help_together(result)) return;
    columns_.emplace(c.plot_columns);
    columns_->write(plot::draw_figure(draw_column_help(*result.report.help), c.plot_columns));
  }

  std::unique_ptr<TableWriter> predictions_, samples_;
  std::optional<PredictionPicture> picture_;
  std::optional<AtomicFile> columns_;
};

void show_messages(const PredictOptions& c, const FillTables& tables, const FillResult& result,
                   const std::string& summary, std::size_t drawn, Progress& progress) {
  if (!c.plot.empty() && drawn < tables.groups.size())
    progress.message(
        fmt::format("npzoo: {} shows the first {} of {} groups", c.plot.string(), drawn, tables.groups.size()));
  if (!c.plot_columns.empty() && !help_together(result))
    progress.message(fmt::format("npzoo: {} was not drawn: columns do not help each other", c.plot_columns.string()));
  show_facts(c, summary, result.report.comments());
  if (const std::vector<std::string>& names = tables.table.header(); names.size() > 1 && names[0].empty())
    progress.message(
        fmt::format("npzoo: the first column of {} has no name: npzoo calls it row and does not choose it as an input",
                    tables.table.format().name()));
  for (const Warning& warning : result.warnings) progress.message("npzoo: warning: " + one_line(warning.text));
  warn_of(result.events);
}

/// Prints how well each method forecasts the hidden last season.
void print_check(const PredictOptions& c, const FillResult& result) {
  if (!c.check) return;
  std::FILE* to = c.out == "-" || c.samples_out == "-" ? stderr : stdout;
  if (result.end_scores.empty()) {
    fmt::print(to, "check: no series with equal steps is long enough to hide its last season\n");
    return;
  }
  const auto naive = std::ranges::find(result.end_scores, name_of(EndMethod::seasonal_naive), &EndScore::method);
  const auto best = std::ranges::min_element(result.end_scores, {}, &EndScore::crps);
  fmt::print(to, "{:36} {:>8} {:>8} {:>10} {:>8}\n", "last season hidden", "MASE", "CRPS", "95 %", "skill");
  for (const EndScore& s : result.end_scores)
    fmt::print(to, "{:36} {:8.3f} {:8.3f} {:8.1f} % {:+6.0f} %\n", s.method, s.mase, s.crps, 100 * s.coverage_95,
               100 * (1 - s.crps / naive->crps));
  fmt::print(to, "lowest CRPS: {}, {} values\n", best->method, best->values);
}

std::string line(const std::string& name, const TruthScores& s) {
  return fmt::format("{}: MAE {:.5g}, RMSE {:.5g}, CRPS {:.5g}, {:.1f} % within the 95 % interval, {} values", name,
                     s.mae, s.rmse, s.crps, 100 * s.coverage_95, s.rows);
}

void print_scores(const PredictOptions& c, const FillResult& result) {
  std::FILE* to = c.out == "-" || c.samples_out == "-" ? stderr : stdout;
  for (std::size_t v = 0; v < result.scores.size(); ++v)
    fmt::print(to, "{}\n", line(result.report.columns.values[v], result.scores[v]));
  if (result.scores.size() > 1) fmt::print(to, "{}\n", line("all", pooled(result.scores)));
  for (const BaselineScores& other : result.baselines) {
    for (std::size_t v = 0; v < other.scores.size(); ++v)
      fmt::print(to, "{}\n", line(result.report.columns.values[v] + " by " + other.name, other.scores[v]));
    if (other.scores.size() > 1) fmt::print(to, "{}\n", line("all by " + other.name, pooled(other.scores)));
  }
}

/// Why a Gaussian process answers where no model was named.
std::string why_gp(const FillData& data) {
  constexpr std::int64_t kNoRows = 0;
  if (usual_weights(data.dim_x, data.covariates, kNoRows) != kGaussianProcess)
    return "too many observed rows for the weights for three inputs";
  if (data.covariates > 0) return "because of --covariates; use --model weights for weights";
  return fmt::format("no weights take {} inputs", data.dim_x);
}

/// Says that a Gaussian process makes the predictions where nobody named it; empty otherwise.
std::string why_fitted(const PredictOptions& c, const FillResult& result, bool compared, const FillData& data) {
  if (c.model != "auto" || !c.checkpoint.empty() || !result.report.fitted || data.dim_x == 0) return {};
  return "a Gaussian process makes the predictions: " +
         (compared ? "it predicts hidden rows better than the weights" : why_gp(data));
}

/// Throws OtherRankError unless all ranks predict the same tables with the same weights.
void compare_ranks(Job& job, const FillTables& tables, const TrainedModel* trained) {
  if (job.size() == 1) return;
  ByteHash numbers;
  const auto add = [&](const std::vector<double>& values) {
    numbers.add(std::ssize(values));
    numbers.add(values.data(), values.size() * sizeof(double));
  };
  for (const TableNumbers* table : {&tables.observed, &tables.asked_numbers()}) {
    add(table->x);
    for (const std::vector<double>& y : table->y) add(y);
    for (const std::string& group : table->groups) numbers.add(group);
  }
  std::vector<Job::Fact> facts = program_facts();
  facts.push_back({"weights", trained != nullptr ? weights_checksum(trained->checkpoint) : "none"});
  facts.push_back({"table", numbers.digest()});
  job.compare(facts);
}

FillOptions fill_options(const PredictOptions& c) {
  return {
      .quantiles = c.quantiles,
      .samples = c.samples,
      .autoregressive = c.autoregressive,
      .standardise = !c.as_is,
      .neighbours = c.neighbours,
      .turn = !c.no_turn,
      .chunk = c.chunk,
      .gp = {.kernel = c.kernel.empty() ? "auto" : c.kernel, .mean = c.linear_mean ? GpMean::linear : GpMean::constant},
      .columns_help = !c.columns_apart,
      .baselines = c.baselines,
      .combine_ends = c.ends == "combined",
      .periods = c.periods,
      .check_ends = c.check,
      .transform = c.transform};
}

/// Prints how the tables were understood, and what would be done.
int explain(const PredictOptions& c, const FillTables& tables, const TrainedModel* trained, const Job& job) {
  if (!job.leads()) return 0;
  const FillData data = tables.data();
  const ColumnChoice& columns = tables.columns;
  std::vector<std::string> lines{fmt::format(
      "columns: {} by {}{}{}", fmt::join(columns.values, ", "),
      tables.has_inputs() ? fmt::format("{}", fmt::join(columns.inputs, ", ")) : "the other columns of a row",
      columns.group.empty() ? "" : fmt::format(", in groups of {}", columns.group),
      columns.covariates.empty() ? "" : fmt::format(", also linear in {}", fmt::join(columns.covariates, ", ")))};
  for (std::string& line : understood(tables)) lines.push_back(std::move(line));
  const std::string method = !tables.has_inputs() ? "a joint distribution of the columns"
                             : trained         ? fmt::format("the weights {}", weights_used(trained->checkpoint).name())
                             : c.model == "gp" ? "a Gaussian process"
                                               : "a Gaussian process: " + why_gp(data);
  const bool ends = columns.inputs.size() == 1 && trained && c.ends == "combined";
  if (!tables.nothing_to_do.empty())
    lines.push_back("to do: nothing, " + tables.nothing_to_do);
  else
    lines.push_back(fmt::format("to do: {}, by {}{}", plan_of(tables), method,
                                ends ? "; after the end of a series of equal steps averaged with other methods" : ""));
  if (c.common.json)
    print_json(JsonValue::object({{"explain", JsonValue::array(lines)}}));
  else
    for (const std::string& line : lines) fmt::print("{}\n", one_line(line));
  return 0;
}

}  // namespace

int predict_tables(const PredictOptions& c, const TrainedModel* trained, Job& job) {
  const auto began = std::chrono::steady_clock::now();
  const FillTables tables = read_tables(c, trained ? std::optional(trained->model->dim_x()) : std::nullopt);
  const TableMethod method(tables, TableMethod::wish_of(c.model), trained);
  trained = method.trained();
  if (c.explain) return explain(c, tables, trained, job);
  check_pictures(c, tables);
  const std::vector<std::string> drawn = drawn_groups(c, tables);
  static_cast<void>(prediction_header(tables, c.quantiles));
  for (const auto& path : {c.out, c.samples_out, c.plot, c.plot_columns})
    if (!path.empty() && job.leads()) check_can_be_written(path);

  compare_ranks(job, tables, trained);
  const InterruptGuard interrupt;
  Progress progress("predict", tables.asked().rows() * std::ssize(tables.columns.values),
                    {.unit = "values", .passing = true});
  FillOptions options = fill_options(c);
  options.stop = interrupt.token();
  options.progress = [&](std::int64_t done, std::int64_t) { progress.update(static_cast<double>(done)); };
  options.job = &job;
  const FillResult result = method.fill(tables, options);
  if (job.leads()) {
    Outputs outputs(c, tables, result, drawn);
    if (interrupt.requested()) return kInterruptedExit;
    outputs.commit();
  }
  progress.finish();
  const std::string why = why_fitted(c, result, trained != nullptr, tables.data());
  if (!trained && !why.empty() && (c.header || c.common.json)) progress.message("npzoo: " + why);
  show_messages(c, tables, result, summary_of(tables, result) + (why.empty() ? why : "; " + why), drawn.size(),
                progress);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (c.common.json)
    print_json(to_json(result, c, tables.asked().rows(), seconds.count()));
  else {
    print_check(c, result);
    print_scores(c, result);
  }
  return result.unanswered > 0 ? kUnansweredExit : 0;
}

}  // namespace npzoo::tools
