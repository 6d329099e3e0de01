// How soon long calls of the library return after a stop request, and whether the next call is right.
//
//     stop_latency [INSTANTS] [NAME...]      default: 200 instants of every call
//
// A call runs once without a request. Then it runs INSTANTS times, each with a request at a random instant, and after
// every twentieth of these once more, undisturbed. Prints the median and the longest time from a request to the
// exception, in milliseconds of all processors that the call uses and of the clock.
// Ends with 1 if a call gave other bits than the first one. In a build with -Db_sanitize=address it also finds leaks.
#include <fmt/format.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/applications/events/following_events.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "npzoo/models/applications/gaussian_process/gaussian_process.h"
#include "npzoo/models/applications/images/picture_completion.h"
#include "npzoo/models/applications/optimise/bayesian_optimiser.h"
#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/training/run_request.h"
#include "npzoo/models/training/trainer.h"
#include "npzoo/models/trials/score_test.h"

using namespace npzoo;

namespace {

using Values = std::vector<double>;
using Clock = std::chrono::steady_clock;

struct LongCall {
  std::string name;
  std::function<Values()> run;
};

/// Seconds that pass, and those of all processors that this process uses meanwhile: on a busy machine the former say
/// more about others.
struct Seconds {
  double wall = 0, processor = 0;

  static Seconds now() {
    timespec processor{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
    return {std::chrono::duration<double>(Clock::now().time_since_epoch()).count(),
            static_cast<double>(processor.tv_sec) + 1e-9 * static_cast<double>(processor.tv_nsec)};
  }
  Seconds operator-(const Seconds& before) const { return {wall - before.wall, processor - before.processor}; }
};

/// Requests a stop after some seconds, unless it is destroyed before.
class Alarm {
 public:
  explicit Alarm(double seconds)
      : thread_([this, seconds](const std::stop_token& done) {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, done, std::chrono::duration<double>(seconds), [] { return false; }) ||
              done.stop_requested())
            return;
          at_ = Seconds::now();
          source_.request_stop();
        }) {}

  std::stop_token token() const { return source_.get_token(); }
  /// Valid after a call was stopped.
  Seconds at() {
    const std::lock_guard lock(mutex_);
    return at_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Seconds at_{};
  std::stop_source source_;
  std::jthread thread_;
};

/// Returns the seconds from the request to the exception; none if the call ended before.
std::optional<Seconds> stop_after(double seconds, const std::function<Values()>& call) {
  Alarm alarm(seconds);
  const StopScope scope(alarm.token());
  try {
    call();
    return {};
  } catch (const Interrupted&) {
    return Seconds::now() - alarm.at();
  }
}

/// Prints a row. Returns whether all undisturbed calls gave the same bits.
bool measure(const LongCall& call, int instants) {
  const Seconds begin = Seconds::now();
  const Values expected = call.run();
  const Seconds whole = Seconds::now() - begin;
  Random random(1);
  Values wall, processor;
  bool same = true;
  for (int i = 0; i < instants; ++i) {
    if (const auto late = stop_after(random.uniform(0, 0.95) * whole.wall, call.run)) {
      wall.push_back(1e3 * late->wall);
      processor.push_back(1e3 * late->processor);
    }
    if (i % 20 == 19 || i + 1 == instants) same = same && call.run() == expected;
  }
  std::ranges::sort(wall);
  std::ranges::sort(processor);
  const auto at = [](const Values& sorted, double share) {
    return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  fmt::print("| {} | {:.2f} | {} of {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {} |\n", call.name, whole.processor,
             wall.size(), instants, at(processor, 0.5), at(processor, 1), at(wall, 0.5), at(wall, 1),
             same ? "same" : "DIFFERENT");
  std::fflush(stdout);
  return same;
}

// Data of the calls, which lives until the end.

struct Folder {
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "npzoo-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw Error("[stop_latency] no folder can be made");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

/// Points of a wave with noise, of which every third value is missing.
struct Points {
  Points(std::int64_t rows, std::int64_t dims, std::uint64_t seed, bool even = false) {
    Random random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      double wave = 0;
      for (std::int64_t d = 0; d < dims; ++d) {
        x.push_back(even ? static_cast<double>(i) : random.uniform(0, 5 * std::sqrt(static_cast<double>(rows) / 100)));
        wave += std::sin(x.back() * (even ? 0.5236 : 1));
      }
      y.push_back(wave + 0.1 * random.normal());
      known.push_back(i % 3 == 2 ? std::nan("") : y.back());
    }
  }
  Values x, y, known;
};

Values means_of(const FillResult& result) {
  Values all;
  for (const PredictedColumn& column : result.columns) {
    all.insert(all.end(), column.mean.begin(), column.mean.end());
    all.insert(all.end(), column.samples.begin(), column.samples.end());
  }
  for (const TruthScores& score : result.scores) all.push_back(score.crps);
  for (const BaselineScores& others : result.baselines)
    for (const TruthScores& score : others.scores) all.push_back(score.crps);
  return all;
}

TrainedModel untrained(TrainingRun run) {
  TrainedModel trained;
  trained.model = make_model(run.spec, {.seed = 5});
  trained.checkpoint.run = std::move(run);
  return trained;
}

TrainingRun run_of(const std::string& protocol, const std::string& model, std::int64_t steps) {
  TrainingRun run{load_protocol(protocol), {}, 3};
  set_steps(run.protocol, steps);
  run.spec = model_spec(run.protocol, model);
  return run;
}

void add_tables(std::vector<LongCall>& calls) {
  static const TrainedModel one = load_model("npzoo/any-1d"), two = load_model("npzoo/any-2d");
  static const Points line(3'000, 1, 1), chart(1'200, 2, 2), some(900, 2, 3), many(2'100, 2, 4), even(600, 1, 5, true);
  calls.push_back({"tables: 3,000 rows", [] { return means_of(fill(one, {.x = line.x, .values = {line.known}})); }});
  calls.push_back({"tables: a map of 1,200 rows",
                   [] { return means_of(fill(two, {.dim_x = 2, .x = chart.x, .values = {chart.known}})); }});
  calls.push_back(
      {"tables: forecasts of regular series", [] {
         const std::span<const double> known = std::span(even.y).first(400);
         return means_of(fill(
             one, {.x = std::span(even.x).first(400), .values = {known}, .targets = std::span(even.x).subspan(380, 60)},
             {.check_ends = true}));
       }});
  calls.push_back({"tables: a scale for the values", [] {
                     return means_of(fill(
                         one, {.x = std::span(line.x).first(3'000), .values = {std::span(line.known).first(3'000)}},
                         {.transform = {.automatic = true}}));
                   }});
  calls.push_back({"tables: covariates", [] {
                     return means_of(fill(one, {.dim_x = 2, .x = some.x, .values = {some.known}, .covariates = 1}));
                   }});
  calls.push_back({"tables: scores, and those of others", [] {
                     return means_of(fill(two, {.dim_x = 2, .x = some.x, .values = {some.known}, .truth = {some.y}},
                                          {.baselines = true}));
                   }});
  calls.push_back({"Gaussian process: 900 rows, samples", [] {
                     return means_of(fill_with_gp({.dim_x = 2, .x = some.x, .values = {some.known}}, {.samples = 20}));
                   }});
  calls.push_back({"Gaussian process: 2,100 rows, local",
                   [] { return GaussianProcess::fit({.dims = 2, .x = many.x, .y = many.y}).predict(many.x).mean; }});
}

void add_forecasts(std::vector<LongCall>& calls, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "series.csv";
  std::ofstream file(path);
  file << "time,value\n";
  const Points even(2'000, 1, 6, true);
  for (std::size_t i = 0; i < even.y.size(); ++i) file << fmt::format("{},{}\n", even.x[i], even.y[i]);
  file.close();
  static const TrainedModel trained = untrained(
      describe_run({.own = OwnData{OwnSeries{path, "time", {"value"}, 48, 24}}, .model = "taylorformer", .steps = 2})
          .run);
  static const ForecastColumns columns = forecast_columns(trained);
  static const TimeSeries series = read_series(path, columns);
  calls.push_back({"forecasts: free-running paths",
                   [] { return forecast(trained, series, columns, {.horizon = 30, .samples = 1}).forecast.mean; }});
}

void add_events(std::vector<LongCall>& calls) {
  static const TrainedModel trained = untrained(run_of("events/hawkes", "thp-plus", 2));
  static const Values times = [] {
    Values all;
    Random random(7);
    for (double at = 0; all.size() < 200; at -= std::log(1 - random.uniform(0, 1))) all.push_back(at);
    return all;
  }();
  calls.push_back({"events: the next one and paths", [] {
                     const auto found =
                         predict_following_events(trained, make_events(trained, times), {.samples = 30, .horizon = 20});
                     Values all{found[0].mean};
                     for (const auto& path : found[0].paths)
                       all.insert(all.end(), path.times.begin(), path.times.end());
                     return all;
                   }});
}

void add_images(std::vector<LongCall>& calls) {
  static const TrainedModel trained = untrained(run_of("quick/mnist", "tnp-d", 2));
  static const CompletionRequest request{
      .model = ImageModel{std::shared_ptr<const Model>(&*trained.model, [](const Model*) {}), Density::marginal,
                          *trained.checkpoint.run.protocol.data->image_format()},
      .picture =
          [] {
            Picture picture{64, 64, 1, {}};
            for (int i = 0; i < 64 * 64; ++i) picture.bytes.push_back(static_cast<std::uint8_t>(37 * i % 256));
            return picture;
          }(),
      .shown = 0.1};
  calls.push_back({"images: 64 x 64 pixels", [] { return complete_picture(request).mean; }});
}

void add_optimise(std::vector<LongCall>& calls) {
  static const Points known(200, 3, 8);
  const auto ask = [](std::int64_t rows, std::size_t axes, const BayesianOptions& options, bool beliefs) {
    std::vector<Axis> space;
    for (std::size_t a = 0; a < axes; ++a) space.push_back({.name = fmt::format("x{}", a), .low = 0, .high = 100});
    BayesianOptimiser optimiser(SearchSpace(space), options);
    optimiser.tell(std::span(known.x).first(static_cast<std::size_t>(rows) * axes),
                   std::span(known.y).first(static_cast<std::size_t>(rows)));
    Values all;
    for (const ProposedPoint& point : optimiser.ask(2).points)
      all.insert(all.end(), point.unit.begin(), point.unit.end());
    if (beliefs) {
      const Beliefs found = optimiser.beliefs();
      all.insert(all.end(), found.values.begin(), found.values.end());
    }
    return all;
  };
  calls.push_back({"optimise: a Gaussian process of 150 values", [ask] { return ask(150, 3, {}, true); }});
  calls.push_back({"optimise: Thompson's rule", [ask] { return ask(200, 2, {.batch = BatchRule::thompson}, false); }});
  calls.push_back({"optimise: weights", [ask] { return ask(100, 1, {}, true); }});
}

void add_training(std::vector<LongCall>& calls, const std::filesystem::path& folder) {
  calls.push_back({"trainer: 30 updates", [folder] {
                     static const TrainingRun run = run_of("quick/gp1d", "tnp-d", 30);
                     // A run that was stopped before is gone on with: it must end as if nothing had happened.
                     const std::filesystem::path out = folder / "run";
                     TrainObserver observer;
                     const TrainResult result = train(run, {.out = out, .resume = true}, observer);
                     std::filesystem::remove_all(out);
                     return Values{result.loss, result.log_likelihood};
                   }});
  static const TrainedModel trained = load_model("npzoo/gp-rbf");
  calls.push_back({"evaluation", [] {
                     const TrainingRun& run = trained.checkpoint.run;
                     return Values{score_test({*trained.model, run, run.protocol, "gp-rbf"},
                                              run.protocol.evaluation.tests.front(), {.batches = 8})
                                       .found.headline()
                                       .value.value};
                   }});
}

}  // namespace

int main(int argc, char** argv) {
  const int instants = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  const Folder folder;
  std::vector<LongCall> calls;
  add_tables(calls);
  add_forecasts(calls, folder.path);
  add_events(calls);
  add_images(calls);
  add_optimise(calls);
  add_training(calls, folder.path);
  fmt::print(
      "| call | processor s | stopped | processor ms, median | longest | ms, median | longest | next call |\n"
      "|---|---:|---:|---:|---:|---:|---:|---|\n");
  bool same = true;
  for (const LongCall& call : calls)
    if (names.empty() ||
        std::ranges::any_of(names, [&](const std::string& name) { return call.name.starts_with(name); }))
      same = measure(call, instants) && same;
  return same ? 0 : 1;
}
