#include <algorithm>
#include <cmath>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/events/any_events.h"
#include "npzoo/models/applications/gaussian_process/gp_kernel.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/outputs.h"
#include "tools/cli/own_program.h"
#include "tools/cli/usage.h"
#include "tools/predict/application.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kMostSamples = 10'000;

struct PredictCommand : PredictOptions {
  std::vector<std::string> words;        // TABLE
  std::filesystem::path context;         // the same by its flag
  std::vector<std::string> probability;  // of quantiles, as they were written
  std::string data;
  std::string grid_text, transform_name, bounds, date_order, decimal;  // as they were written
};

double probability(const std::string& text) {
  double p = 0;
  const auto [end, error] = parse_number(text, p);
  check(error == std::errc() && end == text.data() + text.size() && p > 0 && p < 1,
        "--quantiles {} found, expected numbers above 0 and below 1", text);
  return p;
}

/// An end of --bounds; empty: no limit.
double bound(const std::string& text, double none, const std::string& all) {
  if (text.empty()) return none;
  double value = 0;
  const auto [end, error] = parse_number(text, value);
  check(error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
        "--bounds {} found, expected LOW,HIGH, such as 0,100, or one of them: 0, or ,100", all);
  return value;
}

void read_cell_flags(PredictCommand& c) {
  TransformOptions& t = c.transform;
  const bool counts = t.counts;
  t = {.automatic = c.transform_name == "auto", .counts = counts};
  if (!c.transform_name.empty() && !t.automatic) t.kind = transform_kind(c.transform_name);
  const std::size_t comma = c.bounds.find(',');
  t.low = bound(c.bounds.substr(0, comma), t.low, c.bounds);
  if (comma != std::string::npos) t.high = bound(c.bounds.substr(comma + 1), t.high, c.bounds);
  check(t.low < t.high, "--bounds {} found, expected a lower bound and a higher one", c.bounds);
  check(t.kind != ValueTransform::Kind::logit || (std::isfinite(t.low) && std::isfinite(t.high)),
        "--transform logit found without --bounds LOW,HIGH, expected both");
  c.cells.dates = date_order_named(c.date_order);
  c.cells.decimal = c.decimal.empty() ? '\0' : c.decimal[0];
}

/// At most one flag says which rows to predict.
void check_rows(PredictCommand& c) {
  c.grid = c.grid_text.empty() ? PlaceGrid() : parse_grid(c.grid_text);
  const std::pair<const char*, bool> given[] = {{"--targets", !c.targets.empty()},
                                                {"--horizon", c.horizon.has_value()},
                                                {"--grid", c.grid.any()},
                                                {"--add-rows", c.add_rows}};
  const char* first = nullptr;
  for (const auto& [flag, is_given] : given) {
    if (!is_given) continue;
    check(first == nullptr, "{} and {} found, expected one of them", first, flag);
    first = flag;
  }
}

void check_flags(const Flags& flags, PredictCommand& c) {
  check(c.words.size() <= 1, "{} tables found, expected one TABLE{}", c.words.size(),
        split_list_hint(flags, command_words(), c.words));
  check(c.words.empty() != c.context.empty(), "{} found, expected one of them",
        c.words.empty() ? "neither TABLE nor --context" : "TABLE and --context");
  check(c.context.empty() || !c.targets.empty(), "--context found without --targets, expected both, or TABLE alone");
  check_rows(c);
  check(c.samples > 0 || c.samples_out.empty(), "--samples-out found without --samples, expected both or none");
  check(c.samples == 0 || !c.samples_out.empty() || !c.plot.empty(),
        "--samples found without --samples-out, expected both or none");
  check(!c.autoregressive || !c.samples_out.empty(), "--autoregressive found without --samples-out, expected both");
  c.table = c.words.empty() ? c.context : std::filesystem::path(c.words[0]);
  c.strict = c.words.empty();
  const bool gp = c.model == "gp" || !c.kernel.empty() || c.linear_mean;
  check(c.checkpoint.empty() || (!gp && c.model == "auto"), "--checkpoint and {} found, expected one of them",
        c.model != "auto"  ? "--model"
        : c.kernel.empty() ? "--linear-mean"
                           : "--kernel");
  check(!c.events || (c.checkpoint.empty() && !gp && c.model == "auto"), "--events and {} found, expected one of them",
        !c.checkpoint.empty() ? "--checkpoint" : "--model gp or weights");
  check(c.model != "weights" || !gp, "--model weights and {} found, expected --model gp",
        c.kernel.empty() ? "--linear-mean" : "--kernel");
  check(!c.autoregressive || !gp,
        "--autoregressive and --model gp found, expected one of them: a Gaussian process draws all targets together");
  check(!c.baselines || !c.truth.empty() || !c.plot.empty(),
        "--baselines found without --truth and without --plot, expected one of them");
  if (gp) c.model = "gp";
  if (!c.kernel.empty()) static_cast<void>(GpKernel::parse(c.kernel));
  read_cell_flags(c);
  c.quantiles.clear();
  for (const std::string& text : c.probability) {
    c.quantiles.push_back(probability(text));
    check(std::ranges::count(c.quantiles, c.quantiles.back()) == 1, "--quantiles {} found twice, expected each once",
          text);
  }
  check(!c.explain || c.out.empty(), "--explain and --out found, expected one of them");
  const bool other_result =
      c.explain || c.common.json || c.check || !c.plot.empty() || !c.truth.empty() || c.samples > 0;
  if (c.out.empty() && !other_result) c.out = "-";
}

void add_model_flags(Flags& flags, PredictCommand& c) {
  flags.words("TABLE", c.words,
              "table of observed points ('-' for standard input); npzoo predicts rows without a value. For a model of "
              "events: sequence, time and mark of each event; npzoo predicts the next events");
  add_optional_checkpoint(
      flags, c.checkpoint,
      ". Default: npzoo/any-1d, npzoo/any-2d and npzoo/any-3d for one, two and three inputs, which "
      "need no training. For three inputs npzoo compares them with a Gaussian process on hidden rows, and the "
      "better one answers. For more inputs, for more than 1024 observed rows of three, and with "
      "covariates beside two inputs, unless it is one of numbers, a Gaussian process fitted to the table");
  flags.choice("--model", c.model, {"auto", "weights", "gp"},
               "method for tables without --checkpoint: trained weights, or a Gaussian process fitted to each series");
  flags.text("--kernel", c.kernel,
             "kernel of the Gaussian process: sums and products of matern-1/2, matern-3/2, matern-5/2, rbf, periodic "
             "and linear, such as 'matern-3/2 * periodic + linear'. Default: the likeliest of the first four");
  flags.toggle("--linear-mean", c.linear_mean, "Gaussian process with a mean that is linear in all inputs");
}

void add_file_flags(Flags& flags, PredictCommand& c) {
  flags.text("--context", c.context, "table of observed points without gaps, instead of TABLE; for --targets");
  flags.text("--targets", c.targets,
             "table of points to predict at, '-' for standard input (default: the rows of TABLE)");
  flags.positive("--horizon", c.horizon,
                 "rows to predict after the last one of each series, in its usual step, such as 12. With a model of "
                 "forecasts: steps after the last known row (default: as in training; further steps continue sampled "
                 "paths). For events: length of samples after the last event of each sequence, or after --now, in the "
                 "table's unit");
  flags.text("--grid", c.grid_text,
             "points to predict at, over the range of the places: so many along each input, such as 100x80, or a step, "
             "such as 0.5");
  flags.toggle("--add-rows", c.add_rows,
               "add the rows that a series of equal steps lacks, such as absent hours, and fill them");
  flags.toggle("--explain", c.explain,
               "print how TABLE is understood (columns, steps, missing values, season) and what npzoo would do, and "
               "write nothing");
  flags.text("--out", c.out,
             "table to write: the rows, and columns mean_* and std_*; '-' for standard output (default without other "
             "outputs). Rows without a finite prediction stay blank, with a warning and exit status 3");
  flags.text("--plot", c.plot,
             "picture to write, .svg or .png: a band for one input and at most 100000 rows, three maps for two inputs; "
             "at most twelve groups");
  flags.text(
      "--plot-columns", c.plot_columns,
      "picture to write, .svg or .png, of what columns, or groups, learn from each other; none if they do not help");
}

void add_column_flags(Flags& flags, PredictCommand& c) {
  flags.texts("--inputs", c.columns.inputs,
              "columns of inputs (default: the column of dates); none: rows have no input, and their columns predict "
              "each other");
  flags.texts("--values", c.columns.values, "columns to predict (default: columns of numbers with gaps)");
  flags.texts(
      "--covariates", c.columns.covariates,
      "columns known at all rows that values are also linear in, such as elevation, or holidays and prices in a "
      "forecast; words are categories");
  flags.toggle("--lonlat", c.lonlat,
               "the first two inputs are longitude and latitude in degrees: distances are those on the sphere");
  flags.text(
      "--group", c.columns.group,
      "column of groups, or several, such as store,item: each group is a series of its own; none: all rows are one "
      "series, and rows of equal inputs are averaged");
  flags.choice(
      "--dates", c.date_order, {"dmy", "mdy", "ymd"},
      "order of day, month and year in dates of three numbers, such as 03/04/2020. Default: the only order "
      "that fits all dates of a column, and the day first in 03.04.2020; other ambiguous columns are an error");
  flags.texts("--date", c.columns.date,
              "columns that are an input together: year,month,day, also with hour, minute and second, date,time or "
              "date,hour, or year with quarter, week or day of the year (default: a column of dates and one of times)");
  flags.repeated("--missing", c.cells.missing,
                 "number or text that stands for a missing value, such as -9999; may be given several times");
  flags.choice("--decimal", c.decimal, {".", ","},
               "decimal sign; the other sign may separate groups of three digits. Default: found from the numbers");
  flags.whole("--skip-rows", c.skip_rows, {0}, "lines to skip before the header of each table");
}

void add_value_flags(Flags& flags, PredictCommand& c) {
  flags.choice("--transform", c.transform_name, {"none", "log", "sqrt", "logit", "auto"},
               "predict a function of the values instead: log for values above the lower bound (0), sqrt from it on, "
               "logit between two bounds; auto: the one that predicts left-out values best, for each column. "
               "Predictions and scores are in the table's unit. Default: sqrt for counts, else none");
  flags.text("--bounds", c.bounds,
             "limits of the values, LOW,HIGH; one may be omitted (0, or ,100). Predictions stay within them");
  flags.toggle("--counts", c.transform.counts, "values are whole numbers from 0 on, and so are quantiles and samples");
  flags.texts("--quantiles", c.probability, "probabilities such as 0.05,0.5,0.95: one column for each and every value");
  flags.whole("--digits", c.digits, {1, kMostStdDigits},
              "significant digits of standard deviations; means, quantiles and samples have as many decimals");
  flags.toggle("--header", c.header,
               "write how the table was understood, the weights, the units and other facts as lines '# ...' before the "
               "header of tables, instead of one line on standard error");
  flags.toggle("--verbose", c.verbose, "print these facts on standard error");
}

void add_context_flags(Flags& flags, PredictCommand& c) {
  flags.text("--truth", c.truth, "table with the true values; prints scores. Rows are matched by inputs and group");
  flags.toggle(
      "--baselines", c.baselines,
      "with --truth: also scores a fitted Gaussian process and interpolation on the same rows, and exponential "
      "smoothing, theta, drift and the last season on those after the last known value. With --plot: also draws "
      "these four");
  flags.toggle(
      "--no-standardise", c.as_is,
      "use inputs and values unchanged, instead of mapping them to the range and the standard deviation of training");
  flags.toggle(
      "--columns-apart", c.columns_apart,
      "predict each column and group by itself. By default columns of a row, and groups that share their times, "
      "help to predict each other where that is better on hidden cells. So do complete columns of numbers and "
      "words unless --values names the columns");
  flags.whole("--neighbours", c.neighbours, {0},
              "observed points used for each group of near targets (default 0: the number in training)");
  flags.toggle("--no-turn", c.no_turn,
               "do not turn and stretch two inputs of a large series whose values vary less along a slanted line than "
               "across it");
  flags.whole("--chunk", c.chunk, {1}, "targets predicted at a time; bounds the memory");
  flags.toggle(
      "--autoregressive", c.autoregressive,
      "with --samples-out: draw the targets of a series one after the other, each given those drawn before it, "
      "which makes joint samples of a model that predicts each target by itself; slow");
  flags.whole("--samples", c.samples, {0, kMostSamples},
              "samples for --samples-out, and for --plot of a model of forecasts. Models that predict jointly or "
              "sample functions sample all targets together; "
              "others sample each target by itself, and whole paths after the last known value of a series");
}

void add_future_flags(Flags& flags, PredictCommand& c) {
  flags.choice(
      "--ends", c.ends, {"combined", "weights"},
      "answers of a series whose times have steps: after its last value a combination of the weights with "
      "exponential smoothing, theta, drift, the last season and a season profile, and seasons in its holes; or the "
      "weights alone");
  flags.texts("--period", c.periods,
              "periods of the seasons in those answers: in steps, such as 12, or as time for dates, such as 1y, 3m, 7d "
              "or 24h. Default: found from the data and the calendar");
  flags.toggle("--check", c.check,
               "print how well each method forecasts the hidden last season of the series, and its skill over the "
               "seasonal naive forecast");
  flags.toggle("--events", c.events,
               "the rows are events, such as purchases or failures: predict the next one of each sequence, by weights "
               "that need no training on the table. Needless for a table with the columns time and mark or sequence "
               "alone, and for dates with at most a column of few words");
  flags.text("--now", c.now,
             "for events: time until which no other event has happened, as the table writes times; the prediction is "
             "conditional on that");
  flags.text("--samples-out", c.samples_out,
             "table to write samples to: the rows, sample (from 1 on) and the values; '-' for standard output");
}

// In this order --help shows them.
void add_flags(Flags& flags, PredictCommand& c) {
  add_flags(flags, c.common);
  add_model_flags(flags, c);
  add_file_flags(flags, c);
  add_column_flags(flags, c);
  add_value_flags(flags, c);
  add_context_flags(flags, c);
  add_future_flags(flags, c);
  add_data(flags, c.data);
  add_flags(flags, c.ranks);
  flags.check_together([&c, flags] { check_flags(flags, c); });
}

int predict(const PredictOptions& c, Job& job) {
  const bool events = c.checkpoint.empty() && (c.events || are_events(c));
  if (c.checkpoint.empty() && !events) {
    check_flags_of_tables(c);
    return predict_tables(c, nullptr, job);
  }
  const TrainedModel trained = load_model(events ? kAnyEvents : c.checkpoint);
  return application_of(trained, c).run(c, trained, job);
}

int predict_as_rank(const PredictCommand& c, Job& job) {
  apply(c.common);
  set_data_folder(c.data);
  check(c.out != "-" || c.samples_out != "-",
        "[predict] --out - and --samples-out - are both for standard output, expected a file for one of them");
  const std::pair<const char*, const std::filesystem::path&> inputs[] = {
      {c.strict ? "--context" : "TABLE", c.table}, {"--targets", c.targets}, {"--truth", c.truth}};
  const char* reader = nullptr;
  for (const auto& [flag, path] : inputs) {
    if (path != "-") continue;
    check(job.size() == 1, "[predict] {} is standard input, expected a file: {} ranks read it", flag, job.size());
    check(reader == nullptr, "[predict] {} and {} are both standard input, expected a file for one of them", reader,
          flag);
    reader = flag;
  }
  const std::filesystem::path checkpoint = c.checkpoint.empty() ? "" : find_weights(c.checkpoint);
  check_outputs(
      "predict", c.common,
      {{"--out", c.out}, {"--samples-out", c.samples_out}, {"--plot", c.plot}, {"--plot-columns", c.plot_columns}},
      {{"--checkpoint", checkpoint},
       {c.strict ? "--context" : "TABLE", c.table},
       {"--targets", c.targets},
       {"--truth", c.truth}});
  for (const NamedFile& table : {NamedFile{"--out", c.out}, {"--samples-out", c.samples_out}})
    check_table_name("predict", table);
  const NoGrad off;
  return predict(c, job);
}

int run(const PredictCommand& c) {
  SharedJob job(c.ranks);
  try {
    return job.run([&](Job& ranks) { return predict_as_rank(c, ranks); });
  } catch (const Interrupted&) {
    return kInterruptedExit;
  }
}

}  // namespace

extern const CommandInfo predict_command = command<PredictCommand, add_flags, run>(
    "Fill a table, predict the points of another table, forecast a series, or predict the next events.",
    CommandGroup::predict, "npzoo predict examples/station.csv --out filled.csv --plot filled.svg", Processes::several);

}  // namespace npzoo::tools
