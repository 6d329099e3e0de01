#pragma once

#include <filesystem>
#include <string>

#include "datasets/images/known_sets.h"

namespace npzoo {

/// A file of a set under the data folder, by its published name or with .gz or .xz after it. Throws Error where it is
/// not there, with where it can be had.
std::filesystem::path set_file(const KnownImageSet& set, const std::string& name);

}  // namespace npzoo
