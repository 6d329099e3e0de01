#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/io/file.h"
#include "engine/machine.h"
#include "engine/parallel.h"
#include "engine/precision.h"
#include "models/training/checkpoint.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_output.h"

namespace npzoo {

namespace {

void warn_of_fewer_threads(int asked) {
  const int found = thread_pool().threads();
  if (found >= asked) return;
  const std::string reason = found == most_threads()
                                 ? fmt::format("more would only wait for the {} core(s)", usable_cores())
                                 : "the system starts no more";
  fmt::print(stderr, "npzoo: warning: [threads] {} instead of {}: {}\n", found, asked, reason);
}

}  // namespace

void apply(const CommonOptions& common) {
  const Precision precision = parse_precision(common.precision);
  static_cast<void>(active_isa());
  set_threads(common.threads);
  warn_of_fewer_threads(common.threads == 0 ? usable_cores() : common.threads);
  const Device device = select_device(common.device);
  check(device == Device::cuda || precision == Precision::float32,
        "[precision] {} needs a CUDA device; the CPU computes in float32", common.precision);
  set_matmul_precision(precision);
}

void check_outputs(std::string_view command, const CommonOptions& common, const std::vector<NamedFile>& outputs,
                   const std::vector<NamedFile>& inputs) {
  std::vector<NamedFile> others = inputs;
  for (const auto& [flag, path] : outputs) {
    if (path.empty()) continue;
    check(!common.json || path != "-", "[{}] --json and {} - are both for standard output, expected a file for {}",
          command, flag, flag);
    for (const NamedFile& other : others)
      check(other.path.empty() || !is_same_file(path, other.path), "[{}] {} {} is {} as well, expected another file",
            command, flag, path.string(), other.flag);
    check(!holds_training(path), "[{}] {} {} holds a state of training, expected another file", command, flag,
          path.string());
    others.push_back({flag, path});
  }
}

void warn_of_clamped_denominators(std::int64_t count) {
  if (count > 0)
    fmt::print(stderr,
               "npzoo: {} denominators of linear attention were limited: its random features have collapsed there\n",
               count);
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  constexpr std::size_t kLongestWord = 512, kShown = 128;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size() - 1) + 1;
    std::size_t shown = end - begin > kLongestWord ? kShown : end - begin;
    while (shown > 0 && begin + shown < end && (text[begin + shown] & 0xC0) == 0x80) --shown;  // not within a character
    line.append(text, begin, shown);
    if (begin + shown < end) line += fmt::format("… ({} bytes) ", end - begin);
    begin = end;
  }
  return line;
}

void print_error(std::string_view message) {
  std::fputs(fmt::format("npzoo: error: {}\n", one_line(std::string(message))).c_str(), stderr);
}

void print_json(const nlohmann::json& result) {
  // Names out of tables need not be UTF-8.
  fmt::print("{}\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int run_command(const CompletionCommand& command) {
  fmt::print("{}", command.script);
  return 0;
}

}  // namespace npzoo
