#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include "datasets/images/known_sets.h"

namespace npzoo {

/// A file or a folder of a set under the data folder, by one of its published names or with .gz or .xz after it. Throws
/// Error where it is not there, with where it can be had.
std::filesystem::path set_file(const KnownImageSet& set, std::initializer_list<std::string> names);

}  // namespace npzoo
