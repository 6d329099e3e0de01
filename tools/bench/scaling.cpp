#include "tools/bench/scaling.h"

#include <fmt/core.h>

#include <new>

#include "engine/flops.h"
#include "engine/memory.h"
#include "tools/bench/support.h"
#include "tools/cli/progress.h"

namespace npzoo {

namespace {

using nlohmann::json;

constexpr std::int64_t kMostPoints = 100'000'000;

struct Speed {
  Timings timings;
  double gflops = 0;
};

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

Speed measure(const PredictMs& predict_ms, std::int64_t nc, std::int64_t nt, std::int64_t repeats) {
  std::int64_t flops = 0;
  const Timings timings = repeat(repeats, [&] {
    const std::int64_t before = counted_flops();
    const double ms = predict_ms(nc, nt);
    flops = counted_flops() - before;
    return ms;
  });
  return {timings, static_cast<double>(flops) / timings.median_ms * 1e-6};
}

json to_json(const ScalingSubject& subject, std::int64_t nc, std::int64_t nt, const std::optional<Speed>& speed,
             double peak_gflops) {
  const auto number = [&speed](double value) { return speed ? json(value) : json(nullptr); };
  const Speed s = speed.value_or(Speed{});
  json row = machine();
  row.update({{"model", subject.model},
              {"protocol", subject.protocol},
              {"nc", nc},
              {"nt", nt},
              {"status", speed ? "ok" : "oom"},
              {"repeats", s.timings.repeats},
              {"median_ms", number(s.timings.median_ms)},
              {"p10_ms", number(s.timings.p10_ms)},
              {"p90_ms", number(s.timings.p90_ms)},
              {"gflops", number(s.gflops)},
              {"share_of_peak", number(s.gflops / peak_gflops)}});
  return row;
}

std::string in_short(const json& row) {
  const std::string what = fmt::format("{}, {} context and {} test points", row.at("model").get<std::string>(),
                                       row.at("nc").get<std::int64_t>(), row.at("nt").get<std::int64_t>());
  const double live = row.at("peak_live_bytes").get<double>() * 1e-6;
  if (row.at("status") == "oom") return fmt::format("{}: out of memory at {:.1f} MB", what, live);
  return fmt::format("{}: {:.3f} ms, {:.1f} MB", what, row.at("median_ms").get<double>(), live);
}

}  // namespace

void add_flags(Flags& flags, ScalingOptions& sizes) {
  flags.choice("--vary", sizes.vary, {"test", "context"}, "which points grow in number: test or context");
  flags.wholes("--points", sizes.points, {1, kMostPoints, /*exponents=*/true},
               "how many of them, a list like 1,1000,1e6");
  flags.whole("--fixed", sizes.fixed, {0, kMostPoints}, "how many of the others");
  flags.whole("--repeats", sizes.repeats, {1},
              "timed repetitions of each size at most; fewer, but one, where they are long");
  flags.bytes("--memory-limit", sizes.memory_limit, "bytes that tensors may use, like 512MB or 1GB; 0 for no limit");
  flags.seed("--seed", sizes.seed, "of weights and points");
}

json measure_scaling(const std::vector<ScalingSubject>& subjects, const ScalingOptions& sizes) {
  const double peak = measured_peak_gflops();
  const MemoryLimit limit(sizes.memory_limit, default_device());
  Progress progress("bench scaling", static_cast<std::int64_t>(subjects.size() * sizes.points.size()),
                    {.unit = "sizes"});
  json rows = json::array();
  for (const ScalingSubject& subject : subjects) {
    const auto predict_ms = unless_out_of_memory(subject.load);
    for (const std::int64_t points : sizes.points) {
      const bool context = sizes.vary == "context";
      const std::int64_t nc = context ? points : sizes.fixed, nt = context ? sizes.fixed : points;
      const MemoryWatch memory;
      const auto speed = !predict_ms
                             ? std::nullopt
                             : unless_out_of_memory([&] { return measure(*predict_ms, nc, nt, sizes.repeats); });
      json row = to_json(subject, nc, nt, speed, peak);
      row.update(memory.peaks());
      progress.message(in_short(row));
      rows.push_back(std::move(row));
      progress.update(static_cast<std::int64_t>(rows.size()));
    }
  }
  progress.finish();
  return rows;
}

void print_scaling(const json& rows) {
  fmt::print("{:<14}{:>10}{:>10}{:>14}{:>12}{:>12}{:>11}{:>13}{:>13}{:>10}{:>8}\n", "model", "context", "test",
             "median ms", "p10", "p90", "live MB", "reserved MB", "resident MB", "GFLOP/s", "% peak");
  for (const json& row : rows) {
    const auto cell = [&row](const char* key, double unit, int digits) {
      const json& value = row.at(key);
      return value.is_null() ? "-" : fmt::format("{:.{}f}", value.get<double>() * unit, digits);
    };
    fmt::print("{:<14}{:>10}{:>10}{:>14}{:>12}{:>12}{:>11}{:>13}{:>13}{:>10}{:>8}\n",
               row.at("model").get<std::string>(), row.at("nc").get<std::int64_t>(), row.at("nt").get<std::int64_t>(),
               row.at("status") == "oom" ? "oom" : cell("median_ms", 1, 3), cell("p10_ms", 1, 3), cell("p90_ms", 1, 3),
               cell("peak_live_bytes", 1e-6, 1), cell("peak_reserved_bytes", 1e-6, 1), cell("peak_rss_bytes", 1e-6, 1),
               cell("gflops", 1, 1), cell("share_of_peak", 100, 0));
  }
}

}  // namespace npzoo
