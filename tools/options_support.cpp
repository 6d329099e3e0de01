#include "tools/options_support.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace npzoo {

namespace {

constexpr double kMostPoints = 1e8;

/// Rewrites a count that may be spelled 1e6 as digits; returns what is wrong with it, if anything.
std::string normalise_count(std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value != std::floor(value) || value < 1 ||
      value > kMostPoints)
    return fmt::format("{} found, expected a whole number from 1 to {:.0f}", text, kMostPoints);
  text = fmt::format("{:.0f}", value);
  return {};
}

/// The same for a number of bytes with or without a unit.
std::string normalise_bytes(std::string& text) {
  const std::string found = text;
  std::string problem;
  try {
    problem = CLI::AsSizeValue(/*kb_is_1000=*/true)(text);
  } catch (const CLI::ValidationError& e) {
    problem = e.what();
  }
  std::int64_t bytes = 0;
  const bool fits = std::from_chars(text.data(), text.data() + text.size(), bytes).ec == std::errc() && bytes >= 0;
  if (problem.empty() && fits) return {};
  return fmt::format("{} found, expected bytes like 512MB, 1GB or 1GiB", found);
}

}  // namespace

void add_common(CLI::App& app, CommonOptions& common) {
  app.add_option(
         "--device", common.device,
         "where to compute: cpu, cuda, auto (cuda where there is one) or emulated (CUDA's kernels on the CPU, slow)")
      ->check(CLI::IsMember({"cpu", "cuda", "auto", "emulated"}))
      ->capture_default_str();
  app.add_option("--precision", common.precision, "of matrix products: float32 (tf32 and bf16 need CUDA)")
      ->check(CLI::IsMember({"float32", "tf32", "bf16"}))
      ->capture_default_str();
  app.add_option("--threads", common.threads,
                 "number of threads, 0 for one per usable core; results do not depend on it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--json", common.json, "print the result as JSON on standard output, and nothing else there");
}

CLI::App& subcommand(CLI::App& app, const std::string& name, const std::string& what, CommonOptions& common) {
  CLI::App& sub = *app.add_subcommand(name, what);
  sub.fallthrough();
  add_common(sub, common);
  return sub;
}

void add_sizes(CLI::App& app, ScalingOptions& sizes) {
  app.add_option("--vary", sizes.vary, "which points grow in number: test or context")
      ->check(CLI::IsMember({"test", "context"}))
      ->capture_default_str();
  app.add_option("--points", sizes.points, "how many of them, a list like 1,1000,1e6")
      ->delimiter(',')
      ->transform(CLI::Validator(normalise_count, "COUNT"))
      ->capture_default_str();
  app.add_option("--fixed", sizes.fixed, "how many of the others")
      ->check(CLI::Range(std::int64_t{0}, static_cast<std::int64_t>(kMostPoints)))
      ->capture_default_str();
  app.add_option("--repeats", sizes.repeats,
                 "timed repetitions of each size at most; fewer, but one, where they are long")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--memory-limit", sizes.memory_limit, "bytes that tensors may use, like 512MB or 1GB; 0 for no limit")
      ->transform(CLI::Validator(normalise_bytes, "BYTES"))
      ->capture_default_str();
  app.add_option("--seed", sizes.seed, "of weights and points")->capture_default_str();
}

}  // namespace npzoo
