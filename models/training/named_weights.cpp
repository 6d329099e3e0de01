#include "npzoo/models/training/named_weights.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/own_file.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".safetensors";
/// In a folder of weights: what has the others, and their names, a line each. tools/package/split_wheel.py writes it.
constexpr char kElsewhere[] = "elsewhere.txt";
constexpr std::array kDefaultOfInputs = {"kriging-tnp:npzoo/any-1d", "kriging-tnp:npzoo/any-2d",
                                         "kriging-tnp:npzoo/any-3d"};

/// Folders above that of the library or program that may hold `share/npzoo`: lib/ARCHITECTURE is two below a prefix.
constexpr int kFoldersAbove = 3;

/// Returns the folders near the library or program that may hold weights: installed ones, and the source tree of a
/// build.
std::vector<fs::path> folders_nearby() {
  std::vector<fs::path> folders;
  fs::path above = own_file().parent_path();
  for (int i = 0; i <= kFoldersAbove && !above.empty(); ++i) {
    folders.push_back(above / "share" / "npzoo" / "weights");
    std::error_code error;
    if (fs::exists(above / "tools" / "package" / "exports.map", error)) folders.push_back(above / "weights");
    above = above == above.root_path() ? fs::path() : above.parent_path();
  }
  return folders;
}

/// Returns the folders of data that the system's programs share (XDG base directories): a program that was linked with
/// an installed library may be anywhere.
std::vector<fs::path> shared_folders() {
  const char* const named = std::getenv("XDG_DATA_DIRS");
  std::istringstream folders(named && *named ? named : "/usr/local/share:/usr/share");
  std::vector<fs::path> found;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::path(folder).is_absolute()) found.push_back(fs::path(folder) / "npzoo" / "weights");
  return found;
}

std::string name_of(const fs::path& file, const fs::path& folder) {
  const fs::path relative = file.lexically_relative(folder);
  return relative.stem().string() + ":" + relative.parent_path().generic_string();
}

/// Whether there is something to read at a path. A folder is nothing: one may bear the name of a protocol.
bool is_file(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

/// The beginning of known names up to ':', or what follows it.
std::vector<std::string> parts_of(const std::vector<std::string>& names, bool protocols) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const std::size_t colon = name.find(':');
    parts.push_back(protocols ? name.substr(colon + 1) : name.substr(0, colon));
  }
  return parts;
}

/// The part of an unknown name to find names like it by: all of it, its protocol or its model. Empty if no name is like
/// it.
std::string telling_part(const std::string& name, const std::vector<std::string>& known) {
  if (!nearest_words(name, known).empty()) return name;
  const std::size_t colon = name.find(':');
  const bool both = colon != name.npos;
  const auto protocols = nearest_words(both ? name.substr(colon + 1) : name, parts_of(known, true));
  if (!protocols.empty()) return protocols[0];
  const auto models = nearest_words(both ? name.substr(0, colon) : "", parts_of(known, false));
  return models.empty() ? "" : models[0];
}

}  // namespace

std::vector<fs::path> weights_folders() {
  std::vector<fs::path> candidates;
  if (const char* chosen = std::getenv("NPZOO_WEIGHTS"); chosen && *chosen) candidates.emplace_back(chosen);
  std::ranges::move(folders_nearby(), std::back_inserter(candidates));
  std::ranges::move(shared_folders(), std::back_inserter(candidates));
  if (const char* data = std::getenv("NPZOO_DATA"); data && *data) candidates.push_back(fs::path(data) / "weights");
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

std::optional<NamedWeights> weights_named(const std::string& name) {
  std::vector<NamedWeights> of_protocol;
  for (const NamedWeights& weights : named_weights()) {
    if (weights.name == name) return weights;
    if (weights.name.ends_with(":" + name)) of_protocol.push_back(weights);
  }
  if (of_protocol.size() == 1) return of_protocol[0];
  return {};
}

void refuse_weights_elsewhere(const std::string& name) {
  for (const fs::path& folder : weights_folders()) {
    std::ifstream file(folder / kElsewhere);
    std::string holder;
    std::getline(file, holder);
    for (std::string line; std::getline(file, line);)
      check(line != name && !line.ends_with(":" + name),
            "[weights] '{}' is not in this package, expected {} installed beside it, or NPZOO_WEIGHTS to name the folder "
            "weights of the sources",
            name, holder);
  }
}

fs::path find_weights(const std::string& name_or_path) {
  if (is_file(name_or_path) || name_or_path.ends_with(kExtension)) return name_or_path;
  if (const auto found = weights_named(name_or_path)) return found->path;
  refuse_weights_elsewhere(name_or_path);
  const fs::path checkpoint = fs::path(name_or_path) / "checkpoint.safetensors";
  check(!is_file(checkpoint), "[weights] {} is the folder of a training, expected its file {}", name_or_path,
        checkpoint.string());
  std::vector<std::string> known;
  for (const NamedWeights& weights : named_weights()) known.push_back(weights.name);
  const std::string part = telling_part(name_or_path, known);
  const bool path = name_or_path.find('/') != std::string::npos && name_or_path.find(':') == std::string::npos;
  if (path && part.empty()) return name_or_path;
  check(!known.empty(),
        "[weights] there is no file '{}' and no weights are installed, expected NPZOO_WEIGHTS to name their folder",
        name_or_path);
  fail("[weights] there is no file and there are no weights '{}'{}", name_or_path,
       expected_names(part, known, "npzoo list weights"));
}

std::string full_weights_name(const std::string& name_or_path) {
  if (is_file(name_or_path)) return name_or_path;
  const auto found = weights_named(name_or_path);
  return found ? found->name : name_or_path;
}

std::string default_weights(std::int64_t dim_x) {
  check(dim_x >= 1 && dim_x <= std::ssize(kDefaultOfInputs),
        "[weights] {} inputs found, weights for any table take 1 to {}: expected --checkpoint", dim_x,
        kDefaultOfInputs.size());
  return kDefaultOfInputs[static_cast<std::size_t>(dim_x - 1)];
}

bool is_default(const std::string& name, std::int64_t dim_x) {
  return dim_x >= 1 && dim_x <= std::ssize(kDefaultOfInputs) && name == default_weights(dim_x);
}

}  // namespace npzoo
