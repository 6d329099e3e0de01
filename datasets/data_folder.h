#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace npzoo {

/// The folder of the published data sets, each in a folder of its own: the one that was set, or else the environment
/// variable NPZOO_DATA, or else empty. Several threads can call both functions.
void set_data_folder(std::filesystem::path folder);
std::filesystem::path data_folder();

/// A file or a folder under it, by one of its published names or with .gz or .xz after it. Throws Error, opened by
/// `[where]`, where it is not there, with where it can be had.
std::filesystem::path data_file(std::string_view where, std::initializer_list<std::string> names,
                                std::string_view obtained);

}  // namespace npzoo
