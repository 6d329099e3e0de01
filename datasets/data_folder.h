#pragma once

#include <filesystem>

namespace npzoo {

/// Where published data sets lie, each in a folder of its own. Empty where nobody has said: then the environment
/// variable NPZOO_DATA does, and where that is not set either, there are none.
void set_data_folder(std::filesystem::path folder);
std::filesystem::path data_folder();

}  // namespace npzoo
