#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "npzoo/engine/io/file.h"

namespace npzoo {

/// A figure under the name that TensorBoard shows it by.
struct EventScalar {
  std::string_view tag;
  double value = 0;  // written as float32
};

/// Appends scalars to an event file of TensorBoard: records (TFRecord: length, masked CRC-32C of it, bytes, masked
/// CRC-32C of them; little-endian) of protocol buffers `tensorflow.Event`. Each record is handed to the operating
/// system whole, as it comes, so that a reader sees it at once and a killed process loses none.
class EventFileWriter {
 public:
  /// Opens `path` for appending; a file that is new or empty gets the record that says what it is. TensorBoard looks
  /// for names with "tfevents" in them.
  explicit EventFileWriter(const std::filesystem::path& path);

  /// With the time of now.
  void append(std::int64_t step, std::initializer_list<EventScalar> scalars);

 private:
  void write_record(const std::string& event);

  std::string name_;
  Descriptor file_;
};

/// Whether a file begins as an event file does; an empty one may become one.
bool is_event_file(const std::filesystem::path& path);

/// Takes an event file back to an earlier point: drops the first record of a step greater than `last` and all behind
/// it, and what is damaged or was cut short. A missing file is left missing.
void truncate_events_after(const std::filesystem::path& path, std::int64_t last);

}  // namespace npzoo
