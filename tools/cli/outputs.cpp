#include "tools/cli/outputs.h"

#include <algorithm>
#include <array>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/models/training/checkpoint.h"

namespace npzoo::tools {

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

void check_table_name(std::string_view command, const NamedFile& output) {
  constexpr auto kOthers =
      std::to_array<std::string_view>({".xlsx", ".xls", ".ods", ".parquet", ".feather", ".arrow", ".h5", ".hdf5", ".nc",
                                       ".sqlite", ".db", ".json", ".zip", ".gz", ".xz", ".bz2", ".zst"});
  std::string ending = output.path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  check(std::ranges::find(kOthers, ending) == kOthers.end(),
        "[{}] {} {} ends with {}, expected a table as text, such as {}", command, output.flag, output.path.string(),
        ending, std::filesystem::path(output.path).replace_extension(".csv").string());
}

void check_can_be_written(const std::filesystem::path& path) {
  std::error_code error;
  if (path != "-" && (!std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error)))
    static_cast<void>(AtomicFile(path));
}

}  // namespace npzoo::tools
