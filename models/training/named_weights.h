#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace npzoo {

/// Trained weights that come with npzoo are named MODEL:PROTOCOL, "tnp-d:tnp/gp-rbf", and lie in a folder of weights as
/// PROTOCOL/MODEL.safetensors.

/// Where they are looked for, in this order: `NPZOO_WEIGHTS`, beside the installed program (`../share/npzoo/weights`),
/// in the source tree that the program was built in. Only folders that exist.
std::vector<std::filesystem::path> weights_folders();

struct NamedWeights {
  std::string name;
  std::filesystem::path path;
};

/// All of them, sorted by name; of equal names the first folder's.
std::vector<NamedWeights> named_weights();

/// A path as it is, a name as the file it stands for. A file of that name in the working folder comes first. Throws
/// Error listing the weights that there are where a name stands for none; a word that could be the name of a model is
/// taken for such a name.
std::filesystem::path find_weights(const std::string& name_or_path);

/// The name of the weights that predict from a table of so many inputs and one value where nobody names others. Throws
/// Error where there are none for so many.
std::string default_weights(std::int64_t dim_x);

}  // namespace npzoo
