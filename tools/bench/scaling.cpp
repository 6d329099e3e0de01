#include "tools/bench/scaling.h"

#include <fmt/core.h>

#include <new>

#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/memory.h"
#include "tools/bench/support.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kMostScalingPoints = 100'000'000;

/// f(), or nothing where memory was refused.
template <class F>
auto unless_out_of_memory(F f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const OutOfMemory&) {
    return {};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

PredictionSpeed measure(const PredictMs& predict_ms, std::int64_t nc, std::int64_t nt, std::int64_t repeats,
                        double peak_gflops) {
  std::int64_t flops = 0;
  const Timings timings = repeat(repeats, [&] {
    const std::int64_t before = counted_flops();
    const double ms = predict_ms(nc, nt);
    flops = counted_flops() - before;
    return ms;
  });
  const double gflops = static_cast<double>(flops) / timings.median_ms * 1e-6;
  return {timings, gflops, gflops / peak_gflops};
}

JsonValue to_json(const ScalingRow& r) {
  const auto number = [&r](double value) { return r.speed ? JsonValue(value) : JsonValue(); };
  const PredictionSpeed s = r.speed.value_or(PredictionSpeed{});
  JsonValue row = machine();
  row.update({{"model", r.model},
              {"protocol", r.protocol},
              {"nc", r.nc},
              {"nt", r.nt},
              {"status", r.speed ? "ok" : "oom"},
              {"repeats", s.timings.repeats},
              {"median_ms", number(s.timings.median_ms)},
              {"p10_ms", number(s.timings.p10_ms)},
              {"p90_ms", number(s.timings.p90_ms)},
              {"gflops", number(s.gflops)},
              {"share_of_peak", number(s.share_of_peak)}});
  row.update(to_json(r.memory));
  return row;
}

std::string in_short(const ScalingRow& r) {
  const std::string what = fmt::format("{}, {} context and {} test points", r.model, r.nc, r.nt);
  const double live = static_cast<double>(r.memory.live) * 1e-6;
  if (!r.speed) return fmt::format("{}: out of memory at {:.1f} MB", what, live);
  return fmt::format("{}: {:.3f} ms, {:.1f} MB", what, r.speed->timings.median_ms, live);
}

}  // namespace

void add_flags(Flags& flags, ScalingOptions& sizes) {
  flags.choice("--vary", sizes.vary, {"test", "context"}, "points that grow in number: test or context");
  flags.wholes("--points", sizes.points, {1, kMostScalingPoints, /*exponents=*/true},
               "their numbers, a list like 1,1000,1e6");
  flags.whole("--fixed", sizes.fixed, {0, kMostScalingPoints}, "number of the other points");
  flags.whole("--repeats", sizes.repeats, {1},
              "largest number of timed repetitions of each size; slow sizes get fewer, at least one");
  flags.bytes("--memory-limit", sizes.memory_limit, "bytes that tensors may use, like 512MB or 1GB; 0 for no limit");
  flags.seed("--seed", sizes.seed, "seed of weights and points");
}

std::vector<ScalingRow> measure_scaling(const std::vector<ScalingSubject>& subjects, const ScalingOptions& sizes) {
  const double peak = measured_peak_gflops();
  const MemoryLimit limit(sizes.memory_limit, default_device());
  Progress progress("bench scaling", static_cast<std::int64_t>(subjects.size() * sizes.points.size()),
                    {.unit = "sizes"});
  std::vector<ScalingRow> rows;
  for (const ScalingSubject& subject : subjects) {
    const auto predict_ms = unless_out_of_memory(subject.load);
    for (const std::int64_t points : sizes.points) {
      const bool context = sizes.vary == "context";
      const std::int64_t nc = context ? points : sizes.fixed, nt = context ? sizes.fixed : points;
      const MemoryWatch memory;
      const auto speed = !predict_ms
                             ? std::nullopt
                             : unless_out_of_memory([&] { return measure(*predict_ms, nc, nt, sizes.repeats, peak); });
      rows.push_back({subject.model, subject.protocol, nc, nt, speed, memory.peaks()});
      progress.message(in_short(rows.back()));
      progress.update(static_cast<std::int64_t>(rows.size()));
    }
  }
  progress.finish();
  return rows;
}

JsonValue to_json(const std::vector<ScalingRow>& rows) {
  JsonValue all = JsonValue::array();
  for (const ScalingRow& row : rows) all.push_back(to_json(row));
  return all;
}

void print_scaling(const std::vector<ScalingRow>& rows) {
  fmt::print("{:<14}{:>10}{:>10}{:>14}{:>12}{:>12}{:>11}{:>13}{:>13}{:>10}{:>8}\n", "model", "context", "test",
             "median ms", "p10", "p90", "live MB", "reserved MB", "resident MB", "GFLOP/s", "% peak");
  const auto megabytes = [](std::int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) * 1e-6); };
  for (const ScalingRow& row : rows) {
    const PredictionSpeed s = row.speed.value_or(PredictionSpeed{});
    const auto cell = [&row](double value, int digits) {
      return row.speed ? fmt::format("{:.{}f}", value, digits) : "-";
    };
    fmt::print("{:<14}{:>10}{:>10}{:>14}{:>12}{:>12}{:>11}{:>13}{:>13}{:>10}{:>8}\n", row.model, row.nc, row.nt,
               row.speed ? cell(s.timings.median_ms, 3) : "oom", cell(s.timings.p10_ms, 3), cell(s.timings.p90_ms, 3),
               megabytes(row.memory.live), megabytes(row.memory.reserved),
               row.memory.resident ? megabytes(*row.memory.resident) : "-", cell(s.gflops, 1),
               cell(100 * s.share_of_peak, 0));
  }
}

}  // namespace npzoo::tools
