#pragma once

#include <filesystem>

namespace npzoo {

/// The file of the program or shared library that holds npzoo; empty if the system does not know it.
std::filesystem::path own_file();

}  // namespace npzoo
