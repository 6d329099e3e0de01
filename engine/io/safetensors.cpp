#include "npzoo/engine/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "npzoo/engine/error.h"

namespace npzoo {

static_assert(std::endian::native == std::endian::little, "the format is little-endian and is read without conversion");

namespace {

constexpr std::int64_t kPrefixBytes = sizeof(std::uint64_t);

std::string summary(std::string_view what, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  const auto shown = std::span(items).first(std::min<std::size_t>(items.size(), 10));
  return fmt::format("; {} {}: {}{}", items.size(), what, fmt::join(shown, ", "),
                     shown.size() < items.size() ? ", …" : "");
}

bool is_text(std::string_view content) {
  return std::ranges::none_of(content, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
  });
}

/// Names the format of a file that begins like this, if users mistake it for safetensors; empty otherwise.
std::string_view foreign_kind(std::string_view start) {
  struct Magic {
    std::string_view bytes, kind;
  };
  constexpr Magic kMagics[] = {{"PK\3\4", "a ZIP archive (PyTorch's format, or an .npz)"},
                               {"\x93NUMPY", "a NumPy array"},
                               {"\x89PNG", "a picture (PNG)"},
                               {"\x1f\x8b", "compressed (gzip)"}};
  if (start.substr(kPrefixBytes).starts_with('{')) return {};
  for (const Magic& magic : kMagics)
    if (start.starts_with(magic.bytes)) return magic.kind;
  if (!is_text(start)) return {};
  if (start.starts_with('{') || start.starts_with('[')) return "text (JSON or TOML)";
  std::string_view line = start;
  while (line.starts_with('#') && line.find('\n') != line.npos) line.remove_prefix(line.find('\n') + 1);
  line = line.substr(0, line.find('\n'));
  return line.find(',') != line.npos && line.find('=') == line.npos ? "a table (CSV)" : "text";
}

}  // namespace

std::int64_t TensorFile::elements() const {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : tensors) count += tensor.numel();
  return count;
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : file_(path) {
  name_ = file_->name();
  open(file_->size());
}

SafetensorsReader::SafetensorsReader(std::span<const std::byte> content, std::string name)
    : name_(std::move(name)), content_(content) {
  open(static_cast<std::int64_t>(content.size()));
}

void SafetensorsReader::open(std::int64_t size) {
  check(size >= kPrefixBytes, "[safetensors] {}: {} bytes, expected a length of {} bytes and a header", name_, size,
        kPrefixBytes);
  constexpr std::int64_t kLookedAt = 512;
  std::string start(static_cast<std::size_t>(std::min(size, kLookedAt)), '\0');
  read_at(0, std::as_writable_bytes(std::span(start)));
  const std::string_view kind = foreign_kind(start);
  check(kind.empty(), "[safetensors] {}: is {}, expected a safetensors file, as checkpoints and weights are", name_,
        kind);
  std::uint64_t length = 0;
  read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  const std::int64_t limit = std::min(size - kPrefixBytes, SafetensorsHeader::kMaxBytes);
  check(length <= static_cast<std::uint64_t>(limit), "[safetensors] {}: header of {} bytes, expected at most {}", name_,
        length, limit);
  std::string text(length, '\0');
  read_at(kPrefixBytes, std::as_writable_bytes(std::span(text)));
  data_ = kPrefixBytes + static_cast<std::int64_t>(length);
  header_ = parse_safetensors_header(text, size - data_, name_);
}

void SafetensorsReader::read_at(std::int64_t offset, std::span<std::byte> out) const {
  if (file_)
    file_->read_at(offset, out);
  else
    std::ranges::copy(content_.subspan(static_cast<std::size_t>(offset), out.size()), out.begin());
}

Tensor SafetensorsReader::read(const TensorInfo& info) const {
  Tensor tensor = Tensor::empty(info.shape, info.dtype, Device::cpu);
  read_at(data_ + info.begin, tensor.raw());
  return tensor;
}

Tensor SafetensorsReader::read(std::string_view name) const {
  const auto found = tensors().find(name);
  check(found != tensors().end(), "[safetensors] {}: there is no tensor {}", name_, excerpt(name));
  return read(found->second);
}

TensorFile SafetensorsReader::read_all() const {
  TensorFile content{metadata(), {}};
  for (const auto& [name, info] : tensors()) content.tensors.emplace_hint(content.tensors.end(), name, read(info));
  return content;
}

TensorFile load_safetensors(const std::filesystem::path& path) { return SafetensorsReader(path).read_all(); }

TensorFile parse_safetensors(std::span<const std::byte> content, std::string name) {
  return SafetensorsReader(content, std::move(name)).read_all();
}

std::int64_t save_safetensors(const std::filesystem::path& path, const TensorFile& content) {
  AtomicFile file(path);
  std::vector<std::pair<std::string_view, Tensor>> order;
  for (const auto& [name, tensor] : content.tensors) {
    check(tensor.defined(), "[safetensors] {}: tensor {}: has no elements to write", file.name(), excerpt(name));
    order.emplace_back(name, tensor);
  }
  std::ranges::stable_sort(order, std::greater(), [](const auto& entry) { return size_of(entry.second.dtype()); });

  SafetensorsHeader header{content.metadata, {}};
  std::int64_t end = 0;
  for (const auto& [name, tensor] : order) {
    const std::int64_t begin = std::exchange(end, end + static_cast<std::int64_t>(tensor.bytes()));
    header.tensors.emplace(name, TensorInfo{tensor.dtype(), tensor.shape(), begin, end});
  }
  const std::string text = format_safetensors_header(header, file.name());
  const std::uint64_t length = text.size();
  check(length <= SafetensorsHeader::kMaxBytes, "[safetensors] {}: header of {} bytes, expected at most {}",
        file.name(), length, SafetensorsHeader::kMaxBytes);
  parse_safetensors_header(text, end, file.name());  // nothing is written that could not be read back

  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const auto& [name, tensor] : order) {
    const Tensor here = tensor.to(Device::cpu);
    file.write(here.raw());
  }
  file.commit();
  return kPrefixBytes + static_cast<std::int64_t>(length) + end;
}

void check_names(const std::map<std::string, Shape>& expected, const TensorFile& file, std::string_view name) {
  std::vector<std::string> missing, unexpected, misshapen;
  for (const auto& [key, shape] : expected) {
    const auto found = file.tensors.find(key);
    if (found == file.tensors.end())
      missing.push_back(excerpt(key));
    else if (found->second.shape() != shape)
      misshapen.push_back(fmt::format("{} is {}, expected {}", excerpt(key), found->second.shape(), shape));
  }
  for (const auto& [key, tensor] : file.tensors)
    if (!expected.contains(key)) unexpected.push_back(excerpt(key));
  if (missing.empty() && unexpected.empty() && misshapen.empty()) return;
  fail("[safetensors] {}: the tensors do not match{}{}{}", name, summary("missing", missing),
       summary("unexpected", unexpected), summary("of another shape", misshapen));
}

}  // namespace npzoo
