// The part of the C interface that takes tables with names, dates and text.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "npzoo/datasets/tables/calendar_codes.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/models/applications/tables/table_method.h"
#include "npzoo/models/c_calls.h"
#include "npzoo/models/c_question.h"
#include "npzoo/models/training/named_weights.h"

struct npzoo_answer {
  npzoo::FillResult result;
  std::vector<npzoo::ColumnForm> forms;
  std::vector<double> x;
  std::vector<std::uint32_t> groups;
  std::vector<std::vector<std::string>> texts;  // by npzoo_texts
};

namespace npzoo {

namespace {

constexpr double kDay = 86'400;

/// The text of a number that a reader of tables takes for the same number, and never for a date such as 20240131.
std::string number_cell(double value) {
  if (std::isnan(value)) return {};
  std::string text = fmt::format("{}", value);
  return parse_number_date(text) || may_be_calendar_code(text) ? text + "e0" : text;
}

std::string time_cell(const npzoo_frame& frame, const std::string& column, std::int64_t row, double seconds,
                      bool zoned) {
  if (std::isnan(seconds)) return {};
  constexpr double kYear1 = -62'135'596'800, kYear10000 = 253'402'300'800;
  check(seconds >= kYear1 && seconds < kYear10000,
        "[{}:{}] column \"{}\" has {} seconds since 1970, expected a time of the years 1 to 9999", frame.name, row + 1,
        column, seconds);
  return format_date_time(0, seconds / kDay, zoned);
}

/// Adds a column whose cells are `cell(row)`.
void add_column(npzoo_frame* frame, const char* name, const void* cells,
                const std::function<std::string(std::int64_t row)>& cell) {
  check_given(frame, "frame");
  check_given(name, "name");
  if (frame->rows > 0) check_given(cells, "the column");
  std::vector<std::string> column;
  column.reserve(static_cast<std::size_t>(frame->rows));
  for (std::int64_t row = 0; row < frame->rows; ++row) column.push_back(cell(row));
  frame->header.emplace_back(name);
  frame->columns.push_back(std::move(column));
}

/// Whether the options ask for a Gaussian process. Throws Error if they also ask for weights.
bool wants_process(const npzoo_question& q) {
  const bool gp = q.model == "gp" || q.options.gp.kernel != GpOptions().kernel || q.options.gp.mean == GpMean::linear;
  check(!gp || (q.checkpoint.empty() && q.model != "weights"),
        "--kernel, --linear-mean or --model gp found beside weights, expected one of them");
  return gp;
}

FillTables tables_of(const npzoo_question& q, std::optional<std::int64_t> dim_x) {
  check((q.added.horizon > 0 ? 1 : 0) + (q.added.grid.any() ? 1 : 0) + (q.added.absent ? 1 : 0) + (q.targets ? 1 : 0) <=
            1,
        "two of --targets, --horizon, --grid and --add-rows found, expected one of them");
  TablesToFill tables{
      .table = q.table.table(q.cells), .columns = q.columns, .dim_x = dim_x, .lonlat = q.lonlat, .added = q.added};
  if (q.targets) tables.targets = q.targets->table(q.cells);
  return read_fill_tables(std::move(tables));
}

/// Predicts by the method that `npzoo predict` chooses.
FillResult result_of(const npzoo_question& q, const FillTables& tables, const TrainedModel* named) {
  FillOptions options = q.options;
  options.transform = q.transform_options();
  const auto wish = wants_process(q) ? TableMethod::Wish::gp : TableMethod::wish_of(q.model);
  return TableMethod(tables, wish, named).fill(tables, options);
}

std::unique_ptr<npzoo_answer> answer_of(const FillTables& tables, FillResult result) {
  const TableNumbers& asked = tables.asked_numbers();
  auto answer = std::make_unique<npzoo_answer>();
  answer->forms = asked.forms;
  answer->x = asked.x;
  answer->groups = asked.of_rows;
  std::vector<std::string> warnings;
  for (const Warning& warning : result.warnings) warnings.push_back(warning.text);
  answer->texts = {tables.columns.inputs, tables.columns.values,    tables.groups,          tables.columns.covariates,
                   std::move(warnings),   result.report.comments(), {result.weights.name()}};
  answer->result = std::move(result);
  return answer;
}

/// Asks a caller's function whether to stop: on the thread of the call, and not more often than it promises.
class StopQuestion {
 public:
  StopQuestion(npzoo_stop stop, void* context)
      : stop_(stop), context_(context), caller_(std::this_thread::get_id()), asked_(Clock::now()) {}

  bool operator()() {
    if (std::this_thread::get_id() != caller_) return stopped_.load(std::memory_order_relaxed);
    constexpr std::chrono::milliseconds kBetween{10};
    const Clock::time_point now = Clock::now();
    if (stopped_ || now - asked_ < kBetween) return stopped_;
    asked_ = now;
    stopped_ = stop_(context_) != 0;
    return stopped_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  npzoo_stop stop_;
  void* context_;
  std::thread::id caller_;
  Clock::time_point asked_;
  std::atomic<bool> stopped_ = false;
};

const std::vector<double>& figures_of(const PredictedColumn& column, npzoo_figures kind) {
  if (kind == NPZOO_MEANS) return column.mean;
  if (kind == NPZOO_STDS) return column.std;
  check(kind == NPZOO_QUANTILES || kind == NPZOO_SAMPLES, "[c] figures {} found, expected a value of npzoo_figures",
        static_cast<int>(kind));
  return kind == NPZOO_QUANTILES ? column.quantiles : column.samples;
}

}  // namespace

extern "C" {

npzoo_status npzoo_new_frame(const char* name, int64_t rows, npzoo_frame** frame) {
  return guarded([&] {
    check_given(name, "name");
    check_given(frame, "frame");
    check(rows >= 0, "[c] {} rows found, expected a count", rows);
    *frame = new npzoo_frame{name, rows, {}, {}};
  });
}

void npzoo_free_frame(npzoo_frame* frame) { delete frame; }

npzoo_status npzoo_add_numbers(npzoo_frame* frame, const char* name, const double* numbers) {
  return guarded(
      [&] { add_column(frame, name, numbers, [&](std::int64_t row) { return number_cell(numbers[row]); }); });
}

npzoo_status npzoo_add_times(npzoo_frame* frame, const char* name, const double* seconds, int32_t zoned) {
  return guarded([&] {
    add_column(frame, name, seconds,
               [&](std::int64_t row) { return time_cell(*frame, name, row, seconds[row], zoned != 0); });
  });
}

npzoo_status npzoo_add_texts(npzoo_frame* frame, const char* name, const char* const* texts) {
  return guarded([&] {
    add_column(frame, name, texts,
               [&](std::int64_t row) { return std::string(texts[row] == nullptr ? "" : texts[row]); });
  });
}

npzoo_status npzoo_new_question(const npzoo_frame* table, npzoo_question** question) {
  return guarded([&] {
    check_given(table, "table");
    check_given(question, "question");
    auto made = std::make_unique<npzoo_question>();
    made->table = *table;
    *question = made.release();
  });
}

void npzoo_free_question(npzoo_question* question) { delete question; }

npzoo_status npzoo_set_targets(npzoo_question* question, const npzoo_frame* targets) {
  return guarded([&] {
    check_given(question, "question");
    check_given(targets, "targets");
    question->targets = *targets;
  });
}

npzoo_status npzoo_ask(const npzoo_question* question, npzoo_stop stop, void* context, npzoo_answer** answer) {
  return guarded([&] {
    check_given(question, "question");
    check_given(answer, "answer");
    const NoGrad off;
    std::optional<StopQuestion> asked;
    std::optional<StopScope> scope;
    if (stop != nullptr) scope.emplace([&stopping = asked.emplace(stop, context)] { return stopping(); });
    std::optional<TrainedModel> named;
    if (!question->checkpoint.empty()) named.emplace(load_model(question->checkpoint));
    const TrainedModel* trained = named ? &*named : nullptr;
    const FillTables tables = tables_of(*question, trained ? std::optional(trained->model->dim_x()) : std::nullopt);
    *answer = answer_of(tables, result_of(*question, tables, trained)).release();
  });
}

void npzoo_free_answer(npzoo_answer* answer) { delete answer; }

int64_t npzoo_places(const npzoo_answer* answer) { return answer == nullptr ? 0 : std::ssize(answer->result.answered); }

int64_t npzoo_count(const npzoo_answer* answer, npzoo_texts kind) {
  const auto at = static_cast<std::size_t>(kind);
  return answer == nullptr || at >= answer->texts.size() ? 0 : std::ssize(answer->texts[at]);
}

const char* npzoo_text(const npzoo_answer* answer, npzoo_texts kind, int64_t index) {
  if (index < 0 || index >= npzoo_count(answer, kind)) return nullptr;
  return answer->texts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(index)].c_str();
}

npzoo_status npzoo_get_figures(const npzoo_answer* answer, npzoo_figures kind, int64_t value, double* figures) {
  return guarded([&] {
    check_given(answer, "answer");
    const auto& columns = answer->result.columns;
    check(value >= 0 && value < std::ssize(columns), "[c] value {} found, expected 0 to {}", value,
          std::ssize(columns) - 1);
    const std::vector<double>& found = figures_of(columns[static_cast<std::size_t>(value)], kind);
    if (found.empty()) return;
    check_given(figures, "figures");
    const std::size_t each = found.size() / answer->result.answered.size();
    for (std::size_t i = 0; i < found.size(); ++i)
      figures[i] = answer->result.answered[i / each] ? found[i] : std::numeric_limits<double>::quiet_NaN();
  });
}

npzoo_status npzoo_get_places(const npzoo_answer* answer, int64_t input, double* places, int32_t* is_time) {
  return guarded([&] {
    check_given(answer, "answer");
    const std::int64_t inputs = std::ssize(answer->forms);
    check(input >= 0 && input < inputs, "[c] input {} found, expected 0 to {}", input, inputs - 1);
    if (!answer->x.empty()) check_given(places, "places");
    const ColumnForm& form = answer->forms[static_cast<std::size_t>(input)];
    const bool time = form.kind == ColumnForm::Kind::time;
    for (auto i = static_cast<std::size_t>(input), row = std::size_t{0}; i < answer->x.size();
         i += static_cast<std::size_t>(inputs), ++row) {
      // To the microsecond, as times are written.
      const double day = std::floor(answer->x[i]), rest = (answer->x[i] - day) * kDay;
      places[row] =
          !time ? answer->x[i] : (static_cast<double>(form.epoch) + day) * kDay + std::round(rest * 1e6) / 1e6;
    }
    if (is_time != nullptr) *is_time = time ? 1 : 0;
  });
}

npzoo_status npzoo_get_groups(const npzoo_answer* answer, int64_t* groups) {
  return guarded([&] {
    check_given(answer, "answer");
    check_given(groups, "groups");
    for (std::size_t i = 0; i < answer->result.answered.size(); ++i)
      groups[i] = answer->groups.empty() ? 0 : answer->groups[i];
  });
}

}  // extern "C"

}  // namespace npzoo
