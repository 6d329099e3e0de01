#include "npzoo/engine/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "npzoo/engine/error.h"

namespace npzoo {

using nlohmann::json;

namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::ptrdiff_t kMaxControls = 4'000'000;

constexpr std::array<std::pair<std::string_view, DType>, 3> kDTypes = {
    {{"F32", DType::float32}, {"F64", DType::float64}, {"I64", DType::int64}}};

std::string_view name_of(DType dtype) {
  return std::ranges::find(kDTypes, dtype, &std::pair<std::string_view, DType>::second)->first;
}

/// Checks while it parses. The places where a value may stand bound the depth of the nesting.
class HeaderParser final : public nlohmann::json_sax<json> {
 public:
  HeaderParser(std::string_view text, std::int64_t data_bytes, std::string_view file)
      : text_(text), data_bytes_(data_bytes), file_(file) {}

  SafetensorsHeader parse() {
    expect(text_.starts_with('{'), "the header does not begin with '{{'");
    // nlohmann::json takes a NUL for the end of its input and would not look at the rest.
    expect(text_.find('\0') == text_.npos, "the header has a NUL at byte {}, expected JSON", text_.find('\0'));
    // Its message about an error spells out the white space skipped so far, eight bytes for each line break.
    const auto controls = std::ranges::count_if(text_, [](char c) { return 0 <= c && c < ' '; });
    expect(controls <= kMaxControls, "the header has {} control characters, expected at most {}", controls,
           kMaxControls);
    json::sax_parse(text_, this);
    check_layout();
    return std::move(header_);
  }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { refuse(value == 0 ? "-0" : fmt::to_string(value)); }
  bool number_float(double, const std::string& text) override { refuse(excerpt(text)); }
  bool binary(json::binary_t&) override { refuse("binary"); }
  bool number_unsigned(std::uint64_t value) override;
  bool string(std::string& value) override;
  bool start_object(std::size_t) override;
  bool key(std::string& value) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override;

 private:
  enum class Place { outside, header, metadata, tensor, array };

  struct Draft {
    std::optional<DType> dtype;
    std::optional<std::vector<std::uint64_t>> shape, data_offsets;
  };

  template <class... Args>
  void expect(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) [[unlikely]]
      fail("[safetensors] {}: {}{}", file_, subject(), fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse(std::string_view found) const;
  std::string subject() const;
  void finish_tensor();
  Shape checked_shape() const;
  void check_layout() const;

  std::string_view text_;
  std::int64_t data_bytes_;
  std::string_view file_;

  Place place_ = Place::outside;
  std::string name_;  // the last key of the header
  std::string key_;   // the last key inside a tensor or the metadata
  bool has_metadata_ = false;
  Draft draft_;
  std::vector<std::uint64_t>* array_ = nullptr;
  SafetensorsHeader header_;
};

std::string HeaderParser::subject() const {
  switch (place_) {
    case Place::outside:
    case Place::header: return "";
    case Place::metadata: return fmt::format("{}: ", kMetadata);
    case Place::tensor:
    case Place::array: break;
  }
  return fmt::format("tensor {}: ", excerpt(name_));
}

void HeaderParser::refuse(std::string_view found) const {
  if (place_ == Place::header) expect(false, "{} is {}, expected an object", excerpt(name_), found);
  if (place_ == Place::metadata) expect(false, "{} is {}, expected a string", excerpt(key_), found);
  if (place_ == Place::array) expect(false, "{} holds {}, expected a non-negative integer", key_, found);
  fail("[safetensors] {}: {}{} is {}, expected {}", file_, subject(), key_, found,
       key_ == "dtype" ? "a string" : "an array");
}

bool HeaderParser::number_unsigned(std::uint64_t value) {
  if (place_ != Place::array) refuse(fmt::to_string(value));
  expect(array_->size() < kMaxRank, "{} has more than {} entries", key_, kMaxRank);
  array_->push_back(value);
  return true;
}

bool HeaderParser::string(std::string& value) {
  if (place_ == Place::metadata) {
    header_.metadata.emplace(std::move(key_), std::move(value));
  } else if (place_ == Place::tensor && key_ == "dtype") {
    const auto known = std::ranges::find(kDTypes, value, &std::pair<std::string_view, DType>::first);
    expect(known != kDTypes.end(), "dtype {} is not supported, expected F32, F64 or I64", excerpt(value));
    draft_.dtype = known->second;
  } else {
    refuse("a string");
  }
  return true;
}

bool HeaderParser::start_object(std::size_t) {
  if (place_ == Place::outside) {
    place_ = Place::header;
  } else if (place_ == Place::header) {
    place_ = name_ == kMetadata ? Place::metadata : Place::tensor;
    draft_ = {};
  } else {
    refuse("an object");
  }
  return true;
}

bool HeaderParser::key(std::string& value) {
  if (place_ == Place::header) {
    const bool twice = value == kMetadata ? std::exchange(has_metadata_, true) : header_.tensors.contains(value);
    expect(!twice, "{} appears twice", excerpt(value));
    name_ = std::move(value);
    return true;
  }
  bool twice = false;
  if (place_ == Place::metadata)
    twice = header_.metadata.contains(value);
  else if (value == "dtype")
    twice = draft_.dtype.has_value();
  else if (value == "shape")
    twice = draft_.shape.has_value();
  else if (value == "data_offsets")
    twice = draft_.data_offsets.has_value();
  else
    expect(false, "unknown key {}, expected dtype, shape and data_offsets", excerpt(value));
  expect(!twice, "key {} appears twice", excerpt(value));
  key_ = std::move(value);
  return true;
}

bool HeaderParser::end_object() {
  if (place_ == Place::tensor) finish_tensor();
  place_ = place_ == Place::header ? Place::outside : Place::header;
  return true;
}

bool HeaderParser::start_array(std::size_t) {
  if (place_ != Place::tensor || key_ == "dtype") refuse("an array");
  array_ = &(key_ == "shape" ? draft_.shape : draft_.data_offsets).emplace();
  place_ = Place::array;
  return true;
}

bool HeaderParser::end_array() {
  place_ = Place::tensor;
  return true;
}

bool HeaderParser::parse_error(std::size_t position, const std::string&, const json::exception&) {
  const std::size_t end = std::min(position, text_.size());
  const std::size_t begin = end - std::min<std::size_t>(end, 20);
  fail("[safetensors] {}: the header is not JSON in UTF-8 at byte {}, after {}", file_, end,
       excerpt(text_.substr(begin, end - begin)));
}

Shape HeaderParser::checked_shape() const {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max() / 16;  // what Tensor::empty accepts
  std::array<std::int64_t, kMaxRank> dims;
  std::uint64_t bytes = size_of(*draft_.dtype);
  std::size_t rank = 0;
  for (const std::uint64_t dim : *draft_.shape) {
    expect(dim <= kLimit / bytes, "shape [{}] overflows", fmt::join(*draft_.shape, ", "));
    bytes *= std::max<std::uint64_t>(dim, 1);  // an extent of 0 must not hide an overflow of the others
    dims[rank++] = static_cast<std::int64_t>(dim);
  }
  return Shape(std::span<const std::int64_t>(dims.data(), rank));
}

void HeaderParser::finish_tensor() {
  const auto& [dtype, dims, offsets] = draft_;
  expect(dtype.has_value(), "key dtype is missing");
  expect(dims.has_value(), "key shape is missing");
  expect(offsets.has_value(), "key data_offsets is missing");
  expect(offsets->size() == 2, "data_offsets has {} entries, expected 2", offsets->size());
  const std::uint64_t begin = offsets->front(), end = offsets->back();
  expect(begin <= end && end <= static_cast<std::uint64_t>(data_bytes_),
         "data_offsets [{}, {}] is not a range of the {} bytes of data", begin, end, data_bytes_);
  const Shape shape = checked_shape();
  const std::uint64_t bytes = static_cast<std::uint64_t>(shape.numel()) * size_of(*dtype);
  expect(end - begin == bytes, "data_offsets [{}, {}] spans {} bytes, expected {} for {} {}", begin, end, end - begin,
         bytes, name_of(*dtype), shape);
  expect(header_.tensors.size() < SafetensorsHeader::kMaxTensors, "more than {} tensors",
         SafetensorsHeader::kMaxTensors);
  header_.tensors.emplace(std::move(name_),
                          TensorInfo{*dtype, shape, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)});
}

void HeaderParser::check_layout() const {
  std::vector<const TensorTable::value_type*> order;
  order.reserve(header_.tensors.size());
  for (const auto& entry : header_.tensors) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const auto* entry) { return std::pair(entry->second.begin, entry->second.end); });
  std::int64_t covered = 0;
  for (const auto* entry : order) {
    const auto& [name, info] = *entry;
    if (info.begin != covered)
      expect(false, "tensor {}: begins at byte {} of the data, expected {}, where the previous one ends", excerpt(name),
             info.begin, covered);
    covered = info.end;
  }
  expect(covered == data_bytes_, "the tensors end at byte {} of the data, found {} bytes", covered, data_bytes_);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_bytes, std::string_view file) {
  return HeaderParser(text, data_bytes, file).parse();
}

std::string format_safetensors_header(const SafetensorsHeader& header, std::string_view file) {
  json object = json::object();
  if (!header.metadata.empty()) object[std::string(kMetadata)] = header.metadata;
  for (const auto& [name, info] : header.tensors) {
    check(name != kMetadata, "[safetensors] {}: {} is not a valid name of a tensor", file, kMetadata);
    object[name] = {{"dtype", name_of(info.dtype)},
                    {"shape", std::vector(info.shape.begin(), info.shape.end())},
                    {"data_offsets", {info.begin, info.end}}};
  }
  try {
    std::string text = object.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const json::type_error&) {
    fail("[safetensors] {}: a name or the metadata is not UTF-8", file);
  }
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLength = 80;
  std::size_t length = std::min(text.size(), kLength);
  // Not in the middle of a UTF-8 character.
  while (0 < length && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return fmt::format("{:?}{}", text.substr(0, length), length < text.size() ? "…" : "");
}

}  // namespace npzoo
