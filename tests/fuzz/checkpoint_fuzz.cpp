// libFuzzer entry: whatever the metadata of a checkpoint says, it is either a state that a run can go on from and a
// model that can predict, or an Error. The input holds metadata instead of that of a small checkpoint: lines `== KEY`,
// each followed by the text of that key.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/json.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/trainer.h"

namespace {

using Files = std::map<std::string, npzoo::TensorFile>;

/// A training that has just begun, one that has validated and exported weights.
Files small_files() {
  npzoo::set_threads(1);
  npzoo::TrainingRun run{npzoo::load_protocol("quick/gp1d"), {}, 0};
  run.spec = npzoo::model_spec(run.protocol, "cnp");
  run.spec.config["dim_hid"] = std::int64_t{4};
  npzoo::Checkpoint c = npzoo::Trainer(run).checkpoint();
  c.commit = "0123abc";
  const auto path = std::filesystem::temp_directory_path() / fmt::format("npzoo-fuzz-{}.safetensors", ::getpid());
  Files files;
  npzoo::save_checkpoint(path, c);
  files["begun"] = npzoo::load_safetensors(path);
  npzoo::export_weights(path, c, {"npzoo train", "[]"});
  files["weights"] = npzoo::load_safetensors(path);
  c.best_step = 0;
  c.best_log_likelihood = 0;
  c.best_weights = c.weights;
  npzoo::save_checkpoint(path, c);
  files["validated"] = npzoo::load_safetensors(path);
  std::filesystem::remove(path);
  for (auto& [name, file] : files) file.metadata.erase("checksum");  // it would keep all damage out
  return files;
}

std::map<std::string, std::string> sections(std::string_view text) {
  std::map<std::string, std::string> result;
  constexpr std::string_view kMark = "== ";
  for (std::size_t at = text.starts_with(kMark) ? 0 : text.npos; at != text.npos;) {
    const std::size_t key = at + kMark.size(), line = std::min(text.find('\n', key), text.size());
    const std::size_t next = text.find("\n== ", std::min(line, text.size()));
    const std::size_t begin = std::min(line + 1, text.size());
    const std::size_t end = std::max(begin, std::min(next, text.size()));
    result[std::string(text.substr(key, line - key))] = text.substr(begin, end - begin);
    at = next == text.npos ? next : next + 1;
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files files = small_files();
  auto changes = sections({reinterpret_cast<const char*>(data), size});
  const auto chosen = files.find(changes["file"]);
  npzoo::TensorFile file = chosen == files.end() ? files.at("begun") : chosen->second;
  for (auto& [key, text] : changes) file.metadata[key] = std::move(text);
  try {
    const npzoo::Checkpoint c = npzoo::read_checkpoint(file, "input");
    if (c.exported) {
      npzoo::restore_model(c);
      npzoo::parse_json_or_discard(c.exported->evaluation);
    } else {
      npzoo::Trainer(c).learning_rate();
    }
  } catch (const npzoo::Error&) {
  }
  return 0;
}
