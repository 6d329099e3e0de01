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
/// build; `NPZOO_DATA/weights`. Only folders that exist.
std::vector<std::filesystem::path> weights_folders();

struct NamedWeights {
  std::string name;
  std::filesystem::path path;
};

/// All of them, sorted by name; of equal names the first folder's.
std::vector<NamedWeights> named_weights();

/// The weights of this name, MODEL:PROTOCOL. PROTOCOL alone names them as well if it has one set of weights only.
std::optional<NamedWeights> weights_named(const std::string& name);

/// The file of weights that a path or a name stands for. A file of that name in the working folder comes first. Throws
/// Error, with the names most like it, for a name that no weights have. A path that is no file is returned as it is.
std::filesystem::path find_weights(const std::string& name_or_path);

/// MODEL:PROTOCOL for a name of weights; a path is returned as it is.
std::string full_weights_name(const std::string& name_or_path);

/// The name of the weights that predict from a table of so many inputs and one value where nobody names others. Throws
/// Error where there are none for so many.
std::string default_weights(std::int64_t dim_x);

/// Whether `default_weights` of so many inputs has this name.
bool is_default(const std::string& name, std::int64_t dim_x);

}  // namespace npzoo
