#include <fmt/core.h>

#include "npzoo/engine/tape.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tools/bench/support.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

namespace {

constexpr std::int64_t kMostPoints = 10'000'000;

struct BenchAttentionCommand {
  CommonOptions common;
  std::optional<std::int64_t> queries, keys, heads, width, batch;
  std::optional<std::string> mask;
  std::int64_t repeats = 20;
};

void add_flags(Flags& flags, BenchAttentionCommand& c) {
  add_flags(flags, c.common);
  const auto add_size = [&flags](const char* name, std::optional<std::int64_t>& value, const char* what) {
    flags.whole(name, value, {1, kMostPoints}, what);
  };
  add_size("--queries", c.queries, "query rows of one task");
  add_size("--keys", c.keys, "keys of one task (default: as many as queries)");
  add_size("--heads", c.heads, "heads (default: 4)");
  add_size("--width", c.width, "channels of one head (default: 16)");
  add_size("--batch", c.batch, "tasks (default: 1)");
  flags.choice("--mask", c.mask, {"all", "prefix", "causal"},
               "keys that a row sees: all, prefix (a number for each task) or causal (row i sees i + 1)");
  flags.whole("--repeats", c.repeats, {1}, "largest number of timed repetitions; slow cases get fewer, at least one");
}

/// Shapes of attention; `width` is that of one head.
struct Problem {
  std::int64_t batch = 1, heads = 4, queries = 1024, keys = 1024, width = 16;
  std::string mask = "all";
};

/// Long sequences, and batches of the tasks that models are trained on.
std::vector<Problem> typical_problems() {
  std::vector<Problem> problems{{1, 4, 10'000, 10'000, 16, "all"}, {1, 4, 10'000, 10'000, 32, "all"}};
  for (const char* mask : {"all", "prefix", "causal"})
    for (const std::int64_t keys : {50, 150}) problems.push_back({32, 4, 150, keys, 16, mask});
  return problems;
}

std::vector<Problem> problems_of(const BenchAttentionCommand& c) {
  const bool chosen = c.queries || c.keys || c.heads || c.width || c.batch || c.mask;
  if (!chosen) return typical_problems();
  const Problem usual;
  const std::int64_t queries = c.queries.value_or(usual.queries);
  return {{c.batch.value_or(usual.batch), c.heads.value_or(usual.heads), queries, c.keys.value_or(queries),
           c.width.value_or(usual.width), c.mask.value_or(usual.mask)}};
}

PrefixMask mask_of(const Problem& p) {
  if (p.mask == "all") return PrefixMask::all();
  if (p.mask == "causal") return PrefixMask::growing(1);
  Tensor counts = Tensor::empty({p.batch}, DType::int64);  // evenly spread: half of the keys in the mean
  for (std::int64_t b = 0; b < p.batch; ++b)
    counts.values<std::int64_t>()[static_cast<std::size_t>(b)] = (p.keys * (2 * b + 1) + p.batch) / (2 * p.batch);
  return PrefixMask::lengths(counts);
}

/// Query-key pairs of the whole batch that are visible to each other.
std::int64_t visible_pairs(const Problem& p, const PrefixMask& mask) {
  std::int64_t pairs = 0;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t i = 0; i < p.queries; ++i) pairs += mask.visible(b, i, p.keys);
  return pairs;
}

struct AttentionTimes {
  Timings forward, recorded, backward;
  double forward_gflops = 0, backward_gflops = 0;
  MemoryPeaks memory;
};

AttentionTimes measure(const Problem& p, std::int64_t repeats) {
  Random random(0);
  const std::int64_t channels = p.heads * p.width;
  Tensor q = random_normal(random, {p.batch, p.queries, channels}),
         k = random_normal(random, {p.batch, p.keys, channels}), v = random_normal(random, {p.batch, p.keys, channels});
  const Tensor d_out = random_normal(random, q.shape());
  const PrefixMask mask = mask_of(p);
  const auto attend = [&] { return masked_attention(q, k, v, mask, {.heads = static_cast<int>(p.heads)}); };
  const MemoryWatch memory;
  AttentionTimes result;
  result.forward = repeat(repeats, [&] { return milliseconds([&] { static_cast<void>(attend()); }); });

  Tape tape;
  std::vector<double> backward_ms;
  result.recorded = repeat(repeats, [&] {
    const Recording on(tape);
    for (Tensor* x : {&q, &k, &v}) tape.watch(*x);
    Tensor out;
    const double forward_ms = milliseconds([&] { out = attend(); });
    backward_ms.push_back(milliseconds([&] { tape.backward(out, d_out); }));
    return forward_ms;
  });
  if (backward_ms.size() > 1) backward_ms.erase(backward_ms.begin());  // the run that warms up
  result.backward = summarise(std::move(backward_ms));
  result.memory = memory.peaks();

  const double flops = 4.0 * static_cast<double>(p.heads * p.width * visible_pairs(p, mask));
  result.forward_gflops = flops / result.forward.median_ms * 1e-6;
  result.backward_gflops = 2.5 * flops / result.backward.median_ms * 1e-6;
  return result;
}

JsonValue to_json(const Problem& p, const AttentionTimes& r, double peak) {
  JsonValue row = machine();
  row.update({{"batch", p.batch},
              {"heads", p.heads},
              {"queries", p.queries},
              {"keys", p.keys},
              {"width", p.width},
              {"mask", p.mask},
              {"repeats", r.forward.repeats},
              {"forward_ms", r.forward.median_ms},
              {"forward_recorded_ms", r.recorded.median_ms},
              {"backward_ms", r.backward.median_ms},
              {"forward_gflops", r.forward_gflops},
              {"backward_gflops", r.backward_gflops},
              {"forward_share_of_peak", r.forward_gflops / peak},
              {"backward_share_of_peak", r.backward_gflops / peak},
              {"peak_gflops", peak}});
  row.update(to_json(r.memory));
  return row;
}

void print_header() {
  fmt::print("{:>6}{:>6}{:>9}{:>9}{:>7}{:>8}{:>12}{:>12}{:>12}{:>11}{:>11}{:>10}\n", "batch", "heads", "queries",
             "keys", "width", "mask", "forward ms", "recorded ms", "backward ms", "forward %", "backward %", "live MB");
}

void print_row(const Problem& p, const AttentionTimes& r, double peak) {
  fmt::print("{:>6}{:>6}{:>9}{:>9}{:>7}{:>8}{:>12.3f}{:>12.3f}{:>12.3f}{:>11.1f}{:>11.1f}{:>10.1f}\n", p.batch, p.heads,
             p.queries, p.keys, p.width, p.mask, r.forward.median_ms, r.recorded.median_ms, r.backward.median_ms,
             100 * (r.forward_gflops / peak), 100 * (r.backward_gflops / peak),
             static_cast<double>(r.memory.live) * 1e-6);
}

int run(const BenchAttentionCommand& c) {
  apply(c.common);
  const double peak = measured_peak_gflops();
  const std::vector<Problem> problems = problems_of(c);
  Progress progress("bench attention", static_cast<std::int64_t>(problems.size()), {.unit = "shapes"});
  std::vector<AttentionTimes> results;
  for (const Problem& p : problems) {
    results.push_back(measure(p, c.repeats));
    progress.update(static_cast<std::int64_t>(results.size()));
  }
  progress.finish();
  if (c.common.json) {
    JsonValue rows = JsonValue::array();
    for (std::size_t i = 0; i < problems.size(); ++i) rows.push_back(to_json(problems[i], results[i], peak));
    print_json(rows);
    return 0;
  }
  print_header();
  for (std::size_t i = 0; i < problems.size(); ++i) print_row(problems[i], results[i], peak);
  fmt::print(
      "% of {:.0f} GFLOP/s, which {} reaches; 4 (forward) and 10 (backward) operations for each visible pair and "
      "channel\n",
      peak, machine_in_words());
  return 0;
}

}  // namespace

extern const CommandInfo bench_attention_command = command<BenchAttentionCommand, add_flags, run>(
    "Speed of masked attention; without sizes, for a list of typical ones.", CommandGroup::check,
    "npzoo bench attention --queries 1024");

}  // namespace npzoo::tools
