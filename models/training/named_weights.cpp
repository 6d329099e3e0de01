#include "models/training/named_weights.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "engine/error.h"

namespace npzoo {

namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".safetensors";

/// The folder of the running program, empty where the system does not tell.
fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

std::string name_of(const fs::path& file, const fs::path& folder) {
  const fs::path relative = file.lexically_relative(folder);
  return relative.stem().string() + ":" + relative.parent_path().generic_string();
}

std::string joined(const auto& parts, const auto& text) {
  std::string result;
  for (const auto& part : parts) result += (result.empty() ? "" : ", ") + text(part);
  return result.empty() ? "none" : result;
}

}  // namespace

std::vector<fs::path> weights_folders() {
  std::vector<fs::path> candidates;
  if (const char* chosen = std::getenv("NPZOO_WEIGHTS"); chosen && *chosen) candidates.emplace_back(chosen);
  if (const fs::path program = program_folder(); !program.empty()) {
    candidates.push_back(program.parent_path() / "share" / "npzoo" / "weights");
    candidates.push_back(program.parent_path().parent_path() / "models" / "weights");
  }
  std::erase_if(candidates, [](const fs::path& path) {
    std::error_code error;
    return !fs::is_directory(path, error);
  });
  return candidates;
}

std::vector<NamedWeights> named_weights() {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : weights_folders()) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (entry->path().extension() == kExtension) found.emplace(name_of(entry->path(), folder), entry->path());
    check(!error, "[weights] {} cannot be read: {}", folder.string(), error.message());
  }
  std::vector<NamedWeights> result;
  for (const auto& [name, path] : found) result.push_back({name, path});
  return result;
}

fs::path find_weights(const std::string& name_or_path) {
  std::error_code error;
  if (fs::exists(name_or_path, error)) return name_or_path;
  const bool may_be_a_name = name_or_path.find(':') != std::string::npos ||
                             (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(kExtension));
  if (!may_be_a_name) return name_or_path;
  const auto all = named_weights();
  const auto found = std::ranges::find(all, name_or_path, &NamedWeights::name);
  check(found != all.end(), "[weights] there is no file and there are no weights '{}'; there are {} (looked in {})",
        name_or_path, joined(all, [](const NamedWeights& w) { return w.name; }),
        joined(weights_folders(), [](const fs::path& path) { return path.string(); }));
  return found->path;
}

std::string default_weights(std::int64_t dim_x) {
  constexpr std::array kOfInputs = {"kriging-tnp:npzoo/any-1d", "kriging-tnp:npzoo/any-2d"};
  check(dim_x >= 1 && dim_x <= std::ssize(kOfInputs),
        "[weights] {} inputs found, weights for any table take 1 or {}: expected --checkpoint", dim_x,
        kOfInputs.size());
  return kOfInputs[static_cast<std::size_t>(dim_x - 1)];
}

}  // namespace npzoo
