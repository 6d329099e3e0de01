#include "tools/cli/outputs.h"

#include "engine/error.h"
#include "engine/io/file.h"
#include "models/training/checkpoint.h"

namespace npzoo {

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

void check_can_be_written(const std::filesystem::path& path) {
  std::error_code error;
  if (path != "-" && (!std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error)))
    static_cast<void>(AtomicFile(path));
}

}  // namespace npzoo
