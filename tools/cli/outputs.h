#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "tools/cli/common_options.h"

namespace npzoo::tools {

/// A file that a command line names; none if the path is empty.
struct NamedFile {
  std::string_view flag;
  std::filesystem::path path;
};

/// Before any work: throws Error if what a command is about to write would destroy what it reads, a state of
/// training, or another file that it writes, or where --json and a file would both go to standard output.
void check_outputs(std::string_view command, const CommonOptions& common, const std::vector<NamedFile>& outputs,
                   const std::vector<NamedFile>& inputs);

/// Throws Error if the ending of a path promises a spreadsheet, a database or a compressed file: tables are written as
/// text.
void check_table_name(std::string_view command, const NamedFile& output);

/// Throws Error if it cannot, now and not when long work is done. What is no regular file is only opened once.
void check_can_be_written(const std::filesystem::path& path);

}  // namespace npzoo::tools
