#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace npzoo {

// Trained weights that come with npzoo are named MODEL:PROTOCOL, "tnp-d:tnp/gp-rbf". The file is
// PROTOCOL/MODEL.safetensors in a folder of weights.

/// Returns the folders of weights in the order in which they are searched: `NPZOO_WEIGHTS`; `share/npzoo/weights`
/// beside the shared library or the program that holds npzoo, or up to three folders above it; the source tree of a
/// build; `npzoo/weights` in each of `XDG_DATA_DIRS` (by default /usr/local/share and /usr/share);
/// `NPZOO_DATA/weights`. Only folders that exist.
std::vector<std::filesystem::path> weights_folders();

struct NamedWeights {
  std::string name;
  std::filesystem::path path;
};

/// Returns all weights, sorted by name. Of equal names the first folder's counts.
std::vector<NamedWeights> named_weights();

/// Returns the weights of this name, MODEL:PROTOCOL. PROTOCOL alone is enough if it has one set of weights.
std::optional<NamedWeights> weights_named(const std::string& name);

/// Throws Error with the package to install, if these weights belong to npzoo but were left out of the package that is
/// installed.
void refuse_weights_elsewhere(const std::string& name);

/// Returns the file of weights for a path or a name. A file of that name in the working folder comes first. A path that
/// is no file is returned unchanged. Throws Error, with the names most like it, for an unknown name.
std::filesystem::path find_weights(const std::string& name_or_path);

/// Returns MODEL:PROTOCOL for a name of weights; a path is returned unchanged.
std::string full_weights_name(const std::string& name_or_path);

/// Returns the name of the default weights for a table with this number of inputs and one value. Throws Error if there
/// are none.
std::string default_weights(std::int64_t dim_x);

/// True if `default_weights` of this number of inputs has this name.
bool is_default(const std::string& name, std::int64_t dim_x);

}  // namespace npzoo
