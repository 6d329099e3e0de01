#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "npzoo/engine/io/file.h"

namespace npzoo {

/// Appends JSON objects to a file, one a line. Each line is handed to the operating system whole, as it comes, so that
/// a reader sees it at once and a killed process loses none.
class JsonLinesWriter {
 public:
  /// Opens `path` for appending; creates it where it does not exist.
  explicit JsonLinesWriter(const std::filesystem::path& path);

  /// Numbers that are not finite become null. Throws Error for anything but an object.
  void append(const nlohmann::json& object);

 private:
  std::string name_;
  Descriptor file_;
};

/// Takes a log back to an earlier point, as a resumed run must: drops every line whose number under `key` is greater
/// than `last`, and a last line that was cut short. Lines without `key` stay. A missing file is left missing; a
/// complete line that is no JSON object throws Error and leaves the file as it was.
void truncate_after(const std::filesystem::path& path, std::string_view key, std::int64_t last);

}  // namespace npzoo
