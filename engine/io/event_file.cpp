#include "npzoo/engine/io/event_file.h"

#include <fcntl.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <system_error>

namespace npzoo {

namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";
constexpr std::size_t kHead = 12, kTail = 4;  // bytes of a record before and behind its event

/// Castagnoli's polynomial, reflected.
constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82F63B78 : 0);
    table[i] = value;
  }
  return table;
}();

std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return std::rotr(~crc, 15) + 0xA282EAD8;
}

template <class T>
void append_fixed(std::string& to, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) to += static_cast<char>(value >> 8 * i);
}

template <class T>
T read_fixed(std::string_view from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<T>(static_cast<unsigned char>(from[i])) << 8 * i;
  return value;
}

// Fields of a protocol buffer: number and wire type in one, then the value.
enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void append_key(std::string& to, int field, Wire wire) { append_varint(to, static_cast<unsigned>(field << 3 | wire)); }

void append_bytes(std::string& to, int field, std::string_view bytes) {
  append_key(to, field, kBytes);
  append_varint(to, bytes.size());
  to += bytes;
}

std::string event(std::int64_t step) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string event;
  append_key(event, 1, kFixed64);  // wall_time
  append_fixed(event, std::bit_cast<std::uint64_t>(now));
  append_key(event, 2, kVarint);  // step
  append_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << 7 * i;
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return value;
    }
  }
  return {};
}

/// Returns the step of an event; 0 if it has none.
std::int64_t step_of(std::string_view event) {
  while (const auto key = take_varint(event)) {
    const auto wire = *key & 7;
    std::optional<std::uint64_t> skipped = wire == kFixed64 ? 8 : wire == kFixed32 ? 4 : 0;
    if (wire == kVarint) {
      const auto value = take_varint(event);
      if (value && *key >> 3 == 2) return static_cast<std::int64_t>(*value);
    } else if (wire == kBytes) {
      skipped = take_varint(event);
    }
    if (!skipped || *skipped > event.size()) break;
    event.remove_prefix(*skipped);
  }
  return 0;
}

/// The event of the first record, which `records` loses; none if the record is damaged or not complete.
std::optional<std::string_view> take_record(std::string_view& records) {
  if (records.size() < kHead + kTail) return {};
  const auto size = read_fixed<std::uint64_t>(records);
  if (read_fixed<std::uint32_t>(records.substr(8)) != masked_crc32c(records.substr(0, 8))) return {};
  if (size > records.size() - kHead - kTail) return {};
  const std::string_view event = records.substr(kHead, size);
  if (read_fixed<std::uint32_t>(records.substr(kHead + size)) != masked_crc32c(event)) return {};
  records.remove_prefix(kHead + size + kTail);
  return event;
}

}  // namespace

EventFileWriter::EventFileWriter(const std::filesystem::path& path)
    : name_(path.string()), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  const int code = errno;
  check(file_.is_open(), "[{}] cannot open: {}", name_, std::generic_category().message(code));
  if (file_.size(name_) > 0) return;
  std::string first = event(0);
  append_bytes(first, 3, kFileVersion);  // file_version
  write_record(first);
}

void EventFileWriter::append(std::int64_t step, std::initializer_list<EventScalar> scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    append_bytes(value, 1, tag);
    append_key(value, 2, kFixed32);  // simple_value
    append_fixed(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    append_bytes(summary, 1, value);
  }
  std::string whole = event(step);
  append_bytes(whole, 5, summary);
  write_record(whole);
}

void EventFileWriter::write_record(const std::string& event) {
  std::string record;
  append_fixed(record, std::uint64_t{event.size()});
  append_fixed(record, masked_crc32c(record));
  record += event;
  append_fixed(record, masked_crc32c(event));
  write_all(file_, std::as_bytes(std::span(record)), name_);
}

bool is_event_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  ReadOnlyFile file(path);
  std::string begin(256, '\0');
  begin.resize(file.read(std::as_writable_bytes(std::span(begin))));
  std::string_view records = begin;
  const auto first = take_record(records);
  return begin.empty() || (first && first->ends_with(kFileVersion));
}

void truncate_events_after(const std::filesystem::path& path, std::int64_t last) {
  if (!path_exists(path)) return;
  const std::string text = read_text(path, static_cast<std::size_t>(ReadOnlyFile(path).size()));
  std::string_view rest = text;
  for (std::string_view next = rest; const auto event = take_record(next); rest = next)
    if (step_of(*event) > last) break;
  if (rest.empty()) return;
  AtomicFile kept(path);
  kept.write(std::string_view(text).substr(0, text.size() - rest.size()));
  kept.commit();
}

}  // namespace npzoo
