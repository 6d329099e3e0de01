#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "npzoo/datasets/tables/matching_rows.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/repeated_inputs.h"
#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/ops/kriging/kriging.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/predict/options.h"
#include "tools/predict/picture.h"
#include "tools/predict/series_report.h"

namespace npzoo {

namespace {

using Columns = std::vector<std::vector<double>>;

/// Columns of a table as numbers, inputs row by row.
struct Numbers {
  std::vector<ColumnForm> forms;  // of the inputs
  std::vector<double> x;          // (rows, Dx)
  Columns y;
  std::vector<std::string> groups;
  std::vector<std::uint32_t> of_rows;
};

std::vector<std::size_t> positions(const Table& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> found;
  for (const std::string& name : names) found.push_back(table.format().column(name));
  return found;
}

/// `forms` of the inputs of another table, whose days are counted from the same one.
Numbers read_numbers(Table& table, const ColumnChoice& columns, const std::vector<std::string>& values, bool strict,
                     const std::vector<ColumnForm>& forms) {
  std::vector<std::size_t> required = positions(table, columns.inputs), all = required;
  for (const std::size_t at : positions(table, values)) all.push_back(at);
  if (strict) required = all;
  const std::size_t dim_x = columns.inputs.size();
  const std::vector<ColumnForm> known = forms.empty() ? table.input_forms(std::span(all).first(dim_x)) : forms;
  std::vector<NumberColumn> found = table.numbers(all, known, required);
  Numbers numbers;
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
    Table::Labels labels = table.labels(table.format().column(columns.group));
    numbers.groups = std::move(labels.names);
    numbers.of_rows = std::move(labels.of_rows);
  }
  return numbers;
}

/// Gives the groups of `other` the numbers that they have in `first`, and new ones to those that it lacks.
void renumber(std::vector<std::string>& first, Numbers& other) {
  std::vector<std::uint32_t> numbers;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::uint32_t i = 0; i < first.size(); ++i) known.emplace(first[i], i);
  std::vector<std::string> added;
  for (const std::string& name : other.groups) {
    const auto next = static_cast<std::uint32_t>(first.size() + added.size());
    const auto [at, is_new] = known.try_emplace(name, next);
    if (is_new) added.push_back(name);
    numbers.push_back(at->second);
  }
  for (std::uint32_t& g : other.of_rows) g = numbers[g];
  std::ranges::move(added, std::back_inserter(first));
}

/// The tables of one call, and what its flags make of them.
struct Tables {
  Table table;
  std::optional<Table> targets;
  ColumnChoice columns;

  Table& asked() { return targets ? *targets : table; }
};

Tables read_tables(const PredictOptions& c, std::optional<std::int64_t> dim_x) {
  Progress progress("read", 0, {.unit = "rows", .passing = true});
  const Table::Options options{.give_up = {}, .progress = [&](std::int64_t rows) { progress.update(rows); }};
  Tables tables{Table::read(c.table, options), {}, {}};
  if (!c.targets.empty()) tables.targets = Table::read(c.targets, options);
  tables.columns = tables.targets ? choose_columns(tables.table, *tables.targets, c.columns)
                                  : choose_columns(tables.table, c.columns, dim_x);
  return tables;
}

/// What is known at the places that are asked for; nothing where it was seen already.
Columns read_truth(const PredictOptions& c, const ColumnChoice& columns, const Numbers& asked,
                   const std::vector<std::string>& groups, const Columns* observed) {
  if (c.truth.empty()) return {};
  Table table = Table::read(c.truth);
  const Numbers known = read_numbers(table, columns, columns.values, false, asked.forms);
  const auto dim_x = static_cast<std::int64_t>(columns.inputs.size());
  const std::vector<std::int64_t> rows =
      matching_rows({asked.x, groups, asked.of_rows}, {known.x, known.groups, known.of_rows}, dim_x, c.truth.string());
  Columns truth(known.y.size());
  bool any = false;
  for (std::size_t v = 0; v < truth.size(); ++v)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool seen = observed != nullptr && !std::isnan((*observed)[v][i]);
      truth[v].push_back(rows[i] < 0 || seen ? std::numeric_limits<double>::quiet_NaN()
                                             : known.y[v][static_cast<std::size_t>(rows[i])]);
      any = any || !std::isnan(truth[v].back());
    }
  check(any, "[truth] {} knows none of the values that were predicted, expected rows with the same {}",
        c.truth.string(), fmt::join(columns.inputs, ", "));
  return truth;
}

/// Each stands before the name of every value.
std::vector<std::string> prefixes(const PredictOptions& c) {
  std::vector<std::string> all{"mean_", "std_"};
  for (const double p : c.quantiles) all.push_back(fmt::format("q{}_", p));
  return all;
}

/// A row of the columns with these prefixes.
void figures_of(const TableAnswer& answer, std::size_t row, const PredictOptions& c, std::vector<double>& numbers) {
  numbers.clear();
  const auto add = [&](const PredictedColumn& column, double value) {
    numbers.push_back(round_to_std(value, column.std[row], c.digits));
  };
  for (const PredictedColumn& column : answer.columns) add(column, column.mean[row]);
  for (const PredictedColumn& column : answer.columns) add(column, column.std[row]);
  const std::size_t quantiles = c.quantiles.size();
  for (std::size_t q = 0; q < quantiles; ++q)
    for (const PredictedColumn& column : answer.columns) add(column, column.quantiles[row * quantiles + q]);
}

LocalOptions local_options(std::int64_t neighbours, const TrainingRange& range) {
  if (neighbours > 0) return {.largest_context = neighbours, .neighbours = neighbours};
  const LocalOptions usual;
  return {.largest_context = range.max_context, .neighbours = std::min(usual.neighbours, range.max_context)};
}

/// The exit status if some rows have no finite prediction; the others are written.
constexpr int kUnansweredExit = 3;

/// Tables of predictions and samples, and the picture: all appear, or none.
class Outputs {
 public:
  Outputs(const PredictOptions& c, Tables& tables, const SeriesReport& report, const TableAnswer& answer)
      : c_(c), asked_(tables.asked()), inputs_(tables.columns.inputs), names_(tables.columns.values), answer_(answer) {
    style_ = {asked_.format().separator(), asked_.decimal_sign()};
    comments_ = report.comments();
    path_ = c.targets.empty() ? c.table : c.targets;
    find_answered();
  }

  /// Rows that the model has no finite prediction for: their cells stay blank.
  std::int64_t unanswered() const { return unanswered_; }
  /// Names the first of them by the line of the table that was read.
  std::string warning() const {
    const std::string others = unanswered_ == 1 ? "" : fmt::format(" and {} others have", unanswered_ - 1);
    return fmt::format(
        "[{}:{}]{} no prediction, so that the cells are blank: inputs or values are too large for the model",
        asked_.format().name(), asked_.line(first_), others.empty() ? " has" : others);
  }

  void write_predictions() {
    if (c_.out.empty()) return;
    out_.emplace(c_.out, prediction_header({}, asked_.header(), prefixes(c_), names_, path_), comments_, style_);
    std::vector<double> numbers;
    for (std::int64_t row = 0; row < asked_.rows(); ++row) {
      figures_of(answer_, static_cast<std::size_t>(row), c_, numbers);
      if (answered_[static_cast<std::size_t>(row)])
        out_->write(asked_.text(row), numbers);
      else
        out_->write_blank(asked_.text(row), numbers.size());
    }
  }

  void write_samples(Density density) {
    if (c_.samples == 0) return;
    std::vector<std::string> comments = comments_, names = names_;
    comments.push_back(fmt::format("samples: {} of {}", c_.samples,
                                   density == Density::marginal ? "each target by itself" : "all targets together"));
    if (c_.targets.empty())  // whose columns have these names already
      for (std::string& name : names) name = "sample_" + name;
    samples_.emplace(c_.samples_out, sample_header(asked_.header(), names, path_, c_.table), comments, style_);
    const auto count = static_cast<std::size_t>(c_.samples);
    std::vector<double> numbers;
    for (std::int64_t row = 0; row < asked_.rows(); ++row)
      for (std::size_t k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(row);
        numbers.assign(1, static_cast<double>(k + 1));
        for (const PredictedColumn& column : answer_.columns)
          numbers.push_back(round_to_std(column.samples[at * count + k], column.std[at], c_.digits));
        if (answered_[at])
          samples_->write(asked_.text(row), numbers);
        else
          samples_->write_blank(asked_.text(row), numbers.size());
      }
    samples_->flush();
  }

  /// Of the first `groups` a panel for each value.
  void draw(const std::string& model, const Numbers& observed, const Numbers& asked,
            std::span<const std::string> groups) {
    if (c_.plot.empty()) return;
    std::vector<PictureAxis> axes;
    for (std::size_t i = 0; i < inputs_.size(); ++i) axes.push_back({inputs_[i], observed.forms[i]});
    std::vector<std::string> panels;
    for (const std::string& group : groups)
      for (const std::string& name : names_) panels.push_back(fmt::format("{}, {}", name, group));
    picture_.emplace(c_.plot, model, axes, groups.empty() ? names_ : panels);
    const std::size_t dim_x = axes.size(), values = names_.size(), shown = std::max<std::size_t>(1, groups.size());
    const auto group_of = [](const Numbers& rows, std::size_t i) { return rows.of_rows.empty() ? 0 : rows.of_rows[i]; };
    for (std::size_t v = 0; v < values; ++v) {
      for (std::size_t i = 0; i < observed.y[v].size(); ++i)
        if (const std::size_t g = group_of(observed, i); g < shown && !std::isnan(observed.y[v][i]))
          picture_->add_context(g * values + v, std::span(observed.x).subspan(i * dim_x, dim_x), observed.y[v][i]);
      for (std::size_t i = 0; i < asked.x.size() / dim_x; ++i)
        if (const std::size_t g = group_of(asked, i); answered_[i] && g < shown)
          picture_->add(g * values + v, std::span(asked.x).subspan(i * dim_x, dim_x), answer_.columns[v].mean[i],
                        answer_.columns[v].std[i]);
    }
    picture_->draw();
  }

  void commit() {
    if (out_) out_->commit();
    if (samples_) samples_->commit();
    if (picture_) picture_->commit();
  }

 private:
  /// Finds the rows whose figures are all finite. Throws Error, naming the line of the first row, if there is none.
  void find_answered() {
    answered_.assign(static_cast<std::size_t>(asked_.rows()), true);
    std::optional<double> odd;
    for (std::size_t row = 0; row < answered_.size(); ++row)
      for (const PredictedColumn& column : answer_.columns) {
        const auto look_at = [&](const std::vector<double>& figures) {
          const std::size_t width = figures.size() / answered_.size();
          for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
            if (std::isfinite(figures[i])) continue;
            if (unanswered_ == 0 && !odd) odd = figures[i];
            answered_[row] = false;
          }
        };
        for (const auto* figures : {&column.mean, &column.std, &column.quantiles, &column.samples}) look_at(*figures);
        if (answered_[row] || &column != &answer_.columns.back()) continue;
        if (unanswered_++ == 0) first_ = static_cast<std::int64_t>(row);
      }
    check(unanswered_ == 0 || unanswered_ < asked_.rows(),
          "[{}:{}] the prediction is {}, expected a finite number: inputs or values are too large for the model",
          asked_.format().name(), asked_.line(first_), odd && std::isnan(*odd) ? "no number" : "infinite");
  }

  const PredictOptions& c_;
  const Table& asked_;
  std::vector<std::string> inputs_, names_;
  const TableAnswer& answer_;
  TableStyle style_;
  std::vector<std::string> comments_;
  std::filesystem::path path_;
  std::vector<bool> answered_;  // rows
  std::int64_t unanswered_ = 0, first_ = 0;
  std::optional<TableWriter> out_, samples_;
  std::optional<PredictionPicture> picture_;
};

constexpr std::size_t kMostPanels = 20;

/// The groups that a picture has room for, from the first one on.
std::vector<std::string> drawn_groups(const PredictOptions& c, const ColumnChoice& columns,
                                      const std::vector<std::string>& groups) {
  constexpr std::size_t kMostGroups = 6;
  const std::size_t room = std::max<std::size_t>(1, kMostPanels / columns.values.size());
  const std::vector<std::string> drawn(
      groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(std::min({groups.size(), room, kMostGroups})));
  check_drawn_names(c.plot, drawn);
  return drawn;
}

void check_picture(const PredictOptions& c, const Tables& tables) {
  if (c.plot.empty()) return;
  plot::format_of(c.plot);
  const ColumnChoice& columns = tables.columns;
  check(columns.inputs.size() <= 2, "[plot] {} has {} inputs, {}, expected one or two", c.table.string(),
        columns.inputs.size(), fmt::join(columns.inputs, ", "));
  check_drawn_names(c.plot, columns.inputs);
  check_drawn_names(c.plot, columns.values);
  check(columns.values.size() <= kMostPanels, "[plot] {} has {} columns of values, expected at most {} in a picture",
        c.table.string(), columns.values.size(), kMostPanels);
  const std::int64_t most = most_drawn_rows(columns.inputs.size());
  for (const Table* table : {&tables.table, tables.targets ? &*tables.targets : &tables.table})
    check(table->rows() <= most, "[plot] {} has {} rows, expected at most {} in a picture", table->format().name(),
          table->rows(), most);
}

/// The numbers of TABLE. Throws Error if its rows are several series, or if nothing is known of a column to fill.
Numbers read_observed(const PredictOptions& c, Tables& tables) {
  const ColumnChoice& columns = tables.columns;
  Numbers observed = read_numbers(tables.table, columns, columns.values, c.strict, {});
  if (c.columns.inputs.empty())
    check_one_series(tables.table, columns, observed.x, observed.forms[0].kind == ColumnForm::Kind::time);
  for (std::size_t v = 0; v < observed.y.size() && !tables.targets; ++v)
    check(!std::ranges::all_of(observed.y[v], [](double y) { return std::isnan(y); }),
          "[predict] {} has no value in {}, expected some rows with one", tables.table.format().name(),
          in_quotes(columns.values[v]));
  return observed;
}

void check_model(const Checkpoint& checkpoint, const Model& model, const ColumnChoice& columns) {
  check(model.dim_x() == std::ssize(columns.inputs), "[predict] {} inputs found, {}, {} trained under {} takes {}",
        columns.inputs.size(), fmt::join(columns.inputs, " and "), checkpoint.run.spec.name,
        checkpoint.run.protocol.name, model.dim_x());
  check(model.dim_y() == 1 || model.dim_y() == std::ssize(columns.values),
        "[predict] {} columns of values found, {}, {} trained under {} takes {} together", columns.values.size(),
        fmt::join(columns.values, " and "), checkpoint.run.spec.name, checkpoint.run.protocol.name, model.dim_y());
}

void show_messages(const PredictOptions& c, const SeriesReport& report, std::size_t drawn, std::size_t groups,
                   Progress& progress) {
  if (!c.plot.empty() && drawn < groups)
    progress.message(fmt::format("npzoo: {} shows the first {} of {} groups", c.plot.string(), drawn, groups));
  for (const Warning& warning : report.warnings()) progress.message("npzoo: warning: " + one_line(warning.text));
  warn_of_clamped_denominators(clamped_denominators());
  warn_of_failed_factorisations(failed_factorisations());
}

SeriesOptions series_options(const PredictOptions& c, const Checkpoint& checkpoint, const ColumnChoice& columns) {
  return {.density = model_info(checkpoint.run.spec.name).drawing(),
          .x_names = columns.inputs,
          .quantiles = c.quantiles,
          .samples = c.samples,
          .seed = checkpoint.run.seed,
          .standardise = !c.as_is,
          .chunk = c.chunk,
          .held_points = 1 << 18};  // a large table is heard of soon
}

}  // namespace

int predict_series(const PredictOptions& c, std::optional<TrainedModel> trained) {
  const auto began = std::chrono::steady_clock::now();
  Tables tables = read_tables(c, trained ? std::optional(trained->model->dim_x()) : std::nullopt);
  const ColumnChoice& columns = tables.columns;
  if (!trained) trained = load_model(default_weights(std::ssize(columns.inputs)));
  const auto& [checkpoint, model] = *trained;
  check_model(checkpoint, *model, columns);
  check_picture(c, tables);
  const Numbers observed = read_observed(c, tables);
  std::vector<std::string> groups = observed.groups;
  std::optional<Numbers> other;
  if (tables.targets) {
    other = read_numbers(*tables.targets, columns, {}, false, observed.forms);
    renumber(groups, *other);
  }
  const Numbers& asked = other ? *other : observed;
  const std::vector<std::string> drawn = drawn_groups(c, columns, groups);
  const Columns truth = read_truth(c, columns, asked, groups, other ? nullptr : &observed.y);
  static_cast<void>(prediction_header({}, tables.asked().header(), prefixes(c), columns.values,
                                      c.targets.empty() ? c.table : c.targets));
  for (const auto& path : {c.out, c.samples_out, c.plot})
    if (!path.empty()) check_can_be_written(path);

  const InterruptGuard interrupt;
  const TrainingRange range = checkpoint.run.protocol.data->training_range();
  const auto dim_x = static_cast<std::int64_t>(columns.inputs.size());
  TableQuestion question{observed.x,
                         observed.y,
                         observed.of_rows,
                         asked.x,
                         asked.of_rows,
                         truth,
                         std::max<std::int64_t>(1, std::ssize(groups)),
                         columns.values};
  const std::int64_t places = std::ssize(asked.x) / dim_x * std::ssize(columns.values);
  Progress progress("predict", places, {.unit = "values"});
  SeriesOptions options = series_options(c, checkpoint, columns);
  std::int64_t done = 0;
  const std::int64_t values_at_once = model->dim_y();
  options.progress = [&](std::int64_t targets) { progress.update(done += targets * values_at_once); };
  options.give_up = [&] { return interrupt.requested(); };
  const LocalOptions local = local_options(c.neighbours, range);
  const SeriesPredictor predictor(*model, range, options);
  const TableAnswer answer = predict_table(predictor, local, range, dim_x, question);

  const SeriesReport report = series_report(c, checkpoint, *model, columns, local, question, answer, observed.forms);
  Outputs outputs(c, tables, report, answer);
  outputs.write_predictions();
  outputs.write_samples(options.density);
  outputs.draw(checkpoint.run.spec.name, observed, asked, drawn);
  if (interrupt.requested()) return kInterruptedExit;
  outputs.commit();
  progress.finish();
  show_messages(c, report, drawn.size(), groups.size(), progress);
  if (outputs.unanswered() > 0) progress.message("npzoo: warning: " + outputs.warning());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  report.print(c, tables.asked().rows(), truth, seconds.count());
  return outputs.unanswered() > 0 ? kUnansweredExit : 0;
}

}  // namespace npzoo
