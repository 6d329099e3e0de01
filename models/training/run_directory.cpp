#include "npzoo/models/training/run_directory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "npzoo/engine/io/event_file.h"
#include "npzoo/engine/io/json.h"

namespace npzoo {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kConfig = "config.toml", kProtocol = "protocol.toml", kInitial = "initial.safetensors",
                           kLog = "train.log";

/// Calls f for each line that ends.
template <class F>
bool all_lines(std::string_view text, F f) {
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    if (!f(text.substr(0, end))) return false;
  return true;
}

/// A run that was killed before its first checkpoint leaves no more than this.
bool is_run_metrics(const fs::path& path) {
  return all_lines(read_text(path), [](std::string_view line) {
    const nlohmann::json entry = parse_json_or_discard(line);
    return entry.is_object() && entry.contains("step") && entry["step"].is_number_integer();
  });
}

/// True for leftovers of AtomicFile.
bool is_leftover(const std::string& name) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"checkpoint.safetensors", "metrics.jsonl", "events.out.tfevents.npzoo",
                                              kConfig, kProtocol, kInitial},
      [&](std::string_view file) { return name.starts_with(fmt::format(".{}.", file)); });
}

}  // namespace

bool is_run_config(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  if (fs::file_size(path, error) > kMaxBytes) return false;
  const std::string text = read_text(path);
  if (!text.starts_with(kRunConfigHeader) || !text.ends_with('\n')) return false;
  return all_lines(std::string_view(text).substr(kRunConfigHeader.size()), [](std::string_view line) {
    constexpr std::string_view kOptions[] = {"protocol", "model", "init", "steps",
                                             "batch",    "lr",    "seed", "validation-batches"};
    return line == "[train]" || std::ranges::any_of(kOptions, [line](std::string_view option) {
             return line.starts_with(fmt::format("{} = ", option));
           });
  });
}

RunDirectory::RunDirectory(const fs::path& path) : path_(path) {
  make();
  std::optional<Descriptor> lock = lock_directory(path_);
  check(lock.has_value(), "[train] another process trains in {}; wait for it or choose another --out", path_.string());
  lock_ = std::move(*lock);
  check_own();
}

RunDirectory::~RunDirectory() {
  std::error_code not_empty;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) fs::remove(*made, not_empty);
}

void RunDirectory::make() {
  std::error_code error;
  std::vector<fs::path> missing;  // children first
  for (fs::path p = path_; !p.empty() && !fs::exists(p, error) && p != p.parent_path(); p = p.parent_path())
    missing.push_back(p);
  fs::create_directories(path_, error);
  check(!error, "[train] {} cannot be created: {}", path_.string(), error.message());
  made_.assign(missing.rbegin(), missing.rend());
}

void RunDirectory::check_own() const {
  const auto foreign = [&](const fs::path& name) {
    fail("[train] {} was not written by a training, expected an empty directory or that of a run; choose another --out",
         (path_ / name).string());
  };
  const bool config = is_run_config(path_ / kConfig);
  if (!config && path_exists(path_ / kConfig)) foreign(kConfig);
  for (const std::string_view copied : {kProtocol, kInitial})
    if (!config && path_exists(path_ / copied)) foreign(copied);
  if (path_exists(events()) && !is_event_file(events())) foreign(events().filename());
  if (path_exists(checkpoint())) return;
  if (path_exists(metrics()) && !is_run_metrics(metrics())) foreign(metrics().filename());
  if (config) return;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != kLog && name != metrics().filename() && name != events().filename() && !is_leftover(name))
      foreign(name);
  }
  check(!error, "[train] {} cannot be read: {}", path_.string(), error.message());
}

}  // namespace npzoo
