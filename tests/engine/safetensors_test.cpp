#include "npzoo/engine/io/safetensors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "npzoo/engine/random.h"
#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + data;
}

TensorFile parse(const std::string& file) { return parse_safetensors(std::as_bytes(std::span(file)), "f"); }

bool same(const TensorFile& a, const TensorFile& b) {
  return a.metadata == b.metadata && std::ranges::equal(a.tensors, b.tensors, [](const auto& x, const auto& y) {
           return x.first == y.first && same_bits(x.second, y.second);
         });
}

TensorFile sample() {
  TensorFile file;
  file.metadata = {{"model", "tnp-d"}, {"config", R"({"d_model": 64, "quote": "\""})"}, {"", ""}};
  file.tensors = {
      {"layer.weight", Tensor::from<float>({3, 1}, {1.5f, -0.0f, 1e-45f})},
      {"layer.bias", Tensor::from<double>({2, 2}, {0.1, kNaN, -kInfinity, 5e-324})},
      {"step", Tensor::from<std::int64_t>({}, {std::numeric_limits<std::int64_t>::min()})},
      {"deep", Tensor::from<double>({1, 1, 1, 1, 1, 2}, {7.0, 8.0})},
      {"", Tensor::from<float>({}, {4.0f})},
      {"empty", Tensor::empty({0, 5})},
      {"empty wide", Tensor::empty({3, 0}, DType::int64)},
      {"Größe.β₁ 日本\n\"\\", Tensor::from<std::int64_t>({1}, {-1})},
  };
  return file;
}

}  // namespace

TEST_CASE("safetensors: saved tensors load bit for bit") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a.safetensors";
  const TensorFile file = sample();
  save_safetensors(path, file);
  CHECK(same(load_safetensors(path), file));
  save_safetensors(path, {});
  CHECK(same(load_safetensors(path), {}));
  CHECK(fs::file_size(path) == 16);
}

TEST_CASE("safetensors: the bytes of a file") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "b.safetensors";
  save_safetensors(
      path, {{{"k", "v"}}, {{"a", Tensor::from<float>({1}, {1.0f})}, {"b", Tensor::from<std::int64_t>({}, {2})}}});
  std::string header = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[8,12],"dtype":"F32","shape":[1]},)"
                       R"("b":{"data_offsets":[0,8],"dtype":"I64","shape":[]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  using namespace std::string_literals;
  CHECK(read_text(path) == file_of(header, "\x02\0\0\0\0\0\0\0\0\0\x80\x3f"s));
}

TEST_CASE("safetensors: single tensors are read on demand") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "c.safetensors";
  const TensorFile file = sample();
  save_safetensors(path, file);
  const SafetensorsReader reader(path);
  CHECK(reader.metadata() == file.metadata);
  CHECK(reader.tensors().at("layer.bias").shape == Shape{2, 2});
  CHECK(reader.tensors().at("layer.bias").dtype == DType::float64);
  CHECK(same_bits(reader.read("layer.bias"), file.tensors.at("layer.bias")));
  CHECK(error_of([&] { reader.read("no\x1b[2J"); }) ==
        fmt::format(R"([safetensors] {}: there is no tensor "no\x1b[2J")", path.string()));
}

TEST_CASE("safetensors: data need not be aligned") {
  const std::string header = R"({"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  for (std::size_t pad = 0; pad < 8; ++pad) {
    const double value = 0.1;
    const std::string data(reinterpret_cast<const char*>(&value), sizeof value);
    CHECK(parse(file_of(header + std::string(pad, ' '), data)).tensors.at("x").item() == value);
  }
}

TEST_CASE("safetensors: white space and escapes are JSON's") {
  const TensorFile file = parse(file_of(
      "{\n\t\"\\u0061\\ud83d\\ude00\" : {\"shape\":[ 0 ],\r\n \"data_offsets\":[0,0], \"dtype\":\"F32\"} }  \n"));
  CHECK(file.tensors.contains("a\U0001F600"));
}

TEST_CASE("safetensors: a failed save leaves the old file") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "d.safetensors";
  save_safetensors(path, sample());
  const auto error_of_save = [&](const TensorFile& file) {
    const std::string prefix = fmt::format("[safetensors] {}: ", path.string());
    const std::string message = error_of([&] { save_safetensors(path, file); });
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  };
  const Tensor one = Tensor::zeros({});
  CHECK(error_of_save({{}, {{"x", Tensor()}}}) == R"(tensor "x": has no elements to write)");
  CHECK(error_of_save({{}, {{"__metadata__", one}}}) == "__metadata__ is not a valid name of a tensor");
  CHECK(error_of_save({{}, {{"\xff", one}}}) == "a name or the metadata is not UTF-8");
  CHECK(error_of_save({{{"k", "\xc0\x80"}}, {}}) == "a name or the metadata is not UTF-8");
  CHECK(error_of_save({{{"k", std::string(100'000'000, 'x')}}, {}}) ==
        "header of 100000032 bytes, expected at most 100000000");
  TensorFile many;
  for (int i = 0; i <= 100'000; ++i) many.tensors.emplace(std::to_string(i), one);
  CHECK(error_of_save(many) == R"(tensor "99999": more than 100000 tensors)");
  CHECK(same(load_safetensors(path), sample()));
}

namespace {

struct HostileHeader {
  std::string header, error;
  std::size_t data_bytes = 4;
};

std::string tensor(const std::string& body) { return R"({"x":{)" + body + "}}"; }

const std::string kGood = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
const std::string kF32 = R"("dtype":"F32",)";

const std::vector<HostileHeader> kHostileHeaders = {
    // JSON
    {"", "the header does not begin with '{'"},
    {" {}", "the header does not begin with '{'"},
    {"[]", "the header does not begin with '{'"},
    {std::string("{}\0 ", 4), "the header has a NUL at byte 2, expected JSON"},
    {'{' + std::string(4'000'001, '\n'), "the header has 4000001 control characters, expected at most 4000000"},
    {"{", R"(the header is not JSON in UTF-8 at byte 1, after "{")"},
    {"{}{}", R"(the header is not JSON in UTF-8 at byte 3, after "{}{")"},
    {"{\"x\xff\":", R"(the header is not JSON in UTF-8 at byte 4, after "{\"x\xff")"},
    {R"({"\ud800":1})", R"(the header is not JSON in UTF-8 at byte 9, after "{\"\\ud800\"")"},
    {"{\"\x1b\":1}", R"(the header is not JSON in UTF-8 at byte 3, after "{\"\x1b")"},
    {R"({"x":1e999})", R"(the header is not JSON in UTF-8 at byte 10, after "{\"x\":1e999")"},
    {R"({"x":{},})", R"(tensor "x": key dtype is missing)"},
    // what may stand where
    {R"({"x":1})", R"("x" is 1, expected an object)"},
    {R"({"x":null})", R"("x" is null, expected an object)"},
    {R"({"x":[]})", R"("x" is an array, expected an object)"},
    {R"({"x":"y"})", R"("x" is a string, expected an object)"},
    {R"({"x":)" + std::string(100'000, '['), R"("x" is an array, expected an object)"},
    {R"({"__metadata__":"y"})", R"("__metadata__" is a string, expected an object)"},
    {R"({"__metadata__":{"k":1}})", R"(__metadata__: "k" is 1, expected a string)"},
    {R"({"__metadata__":{"k":{}}})", R"(__metadata__: "k" is an object, expected a string)"},
    {R"({"__metadata__":{"k":[]}})", R"(__metadata__: "k" is an array, expected a string)"},
    {tensor(R"("dtype":1)"), R"(tensor "x": dtype is 1, expected a string)"},
    {tensor(R"("dtype":["F32"])"), R"(tensor "x": dtype is an array, expected a string)"},
    {tensor(R"("shape":"3")"), R"(tensor "x": shape is a string, expected an array)"},
    {tensor(R"("shape":{})"), R"(tensor "x": shape is an object, expected an array)"},
    {tensor(R"("data_offsets":4)"), R"(tensor "x": data_offsets is 4, expected an array)"},
    {tensor(R"("shape":[-1])"), R"(tensor "x": shape holds -1, expected a non-negative integer)"},
    {tensor(R"("shape":[-0])"), R"(tensor "x": shape holds -0, expected a non-negative integer)"},
    {tensor(R"("shape":[1.0])"), R"(tensor "x": shape holds "1.0", expected a non-negative integer)"},
    {tensor(R"("shape":["1"])"), R"(tensor "x": shape holds a string, expected a non-negative integer)"},
    {tensor(R"("shape":[[1]])"), R"(tensor "x": shape holds an array, expected a non-negative integer)"},
    {tensor(R"("data_offsets":[0,18446744073709551616])"),
     R"(tensor "x": data_offsets holds "18446744073709551616", expected a non-negative integer)"},
    // keys
    {R"({"x":)" + kGood + R"(,"x":)" + kGood + "}", R"("x" appears twice)"},
    {R"({"x":)" + kGood + R"(,"\u0078":)" + kGood + "}", R"("x" appears twice)"},
    {R"({"__metadata__":{},"__metadata__":{}})", R"("__metadata__" appears twice)"},
    {R"({"__metadata__":{"k":"1","k":"1"}})", R"(__metadata__: key "k" appears twice)"},
    {tensor(R"("dtype":"F32","dtype":"F32")"), R"(tensor "x": key "dtype" appears twice)"},
    {tensor(R"("shape":[],"shape":[])"), R"(tensor "x": key "shape" appears twice)"},
    {tensor(R"("data_offsets":[],"data_offsets":[])"), R"(tensor "x": key "data_offsets" appears twice)"},
    {tensor(R"("strides":[])"), R"(tensor "x": unknown key "strides", expected dtype, shape and data_offsets)"},
    {tensor(R"("shape":[1],"data_offsets":[0,4])"), R"(tensor "x": key dtype is missing)"},
    {tensor(R"("dtype":"F32","data_offsets":[0,4])"), R"(tensor "x": key shape is missing)"},
    {tensor(R"("dtype":"F32","shape":[1])"), R"(tensor "x": key data_offsets is missing)"},
    // values
    {tensor(R"("dtype":"BF16")"), R"(tensor "x": dtype "BF16" is not supported, expected F32, F64 or I64)"},
    {tensor(R"("shape":[1,1,1,1,1,1,1])"), R"(tensor "x": shape has more than 6 entries)"},
    {tensor(R"("data_offsets":[0,0,0,0,0,0,4])"), R"(tensor "x": data_offsets has more than 6 entries)"},
    {tensor(kF32 + R"("shape":[1],"data_offsets":[4])"), R"(tensor "x": data_offsets has 1 entries, expected 2)"},
    {tensor(kF32 + R"("shape":[1],"data_offsets":[4,0])"),
     R"(tensor "x": data_offsets [4, 0] is not a range of the 4 bytes of data)"},
    {tensor(kF32 + R"("shape":[2],"data_offsets":[0,8])"),
     R"(tensor "x": data_offsets [0, 8] is not a range of the 4 bytes of data)"},
    {tensor(kF32 + R"("shape":[1],"data_offsets":[18446744073709551612,18446744073709551615])"),
     R"(tensor "x": data_offsets [18446744073709551612, 18446744073709551615] is not a range of the 4 bytes of data)"},
    {tensor(kF32 + R"("shape":[2],"data_offsets":[0,4])"),
     R"(tensor "x": data_offsets [0, 4] spans 4 bytes, expected 8 for F32 (2))"},
    {tensor(kF32 + R"("shape":[0,3],"data_offsets":[0,4])"),
     R"(tensor "x": data_offsets [0, 4] spans 4 bytes, expected 0 for F32 (0, 3))"},
    {tensor(kF32 + R"("shape":[4611686018427387904,4],"data_offsets":[0,0])"),
     R"(tensor "x": shape [4611686018427387904, 4] overflows)"},
    {tensor(kF32 + R"("shape":[1152921504606846976,0],"data_offsets":[0,0])"),
     R"(tensor "x": shape [1152921504606846976, 0] overflows)"},
    {tensor(kF32 + R"("shape":[0,4294967296,4294967296],"data_offsets":[0,0])"),
     R"(tensor "x": shape [0, 4294967296, 4294967296] overflows)"},
    {tensor(kF32 + R"("shape":[18446744073709551615],"data_offsets":[0,4])"),
     R"(tensor "x": shape [18446744073709551615] overflows)"},
    // layout
    {tensor(kF32 + R"("shape":[1],"data_offsets":[4,8])"),
     R"(tensor "x": begins at byte 4 of the data, expected 0, where the previous one ends)", 8},
    {R"({"y":)" + kGood + R"(,"x":)" + kGood + "}",
     R"(tensor "y": begins at byte 0 of the data, expected 4, where the previous one ends)"},
    {R"({"y":)" + kGood + R"(,"x":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
     R"(tensor "x": begins at byte 8 of the data, expected 4, where the previous one ends)", 12},
    {R"({"y":)" + kGood + R"(,"x":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}})",
     R"(tensor "x": begins at byte 2 of the data, expected 4, where the previous one ends)"},
    {R"({"x":)" + kGood + "}", "the tensors end at byte 4 of the data, found 5 bytes", 5},
    {"{}", "the tensors end at byte 0 of the data, found 4 bytes"},
    // names cannot garble a terminal
    {R"({"\u001b[2J\u202e)" + std::string(200, 'a') + R"(":1})",
     R"("\x1b[2J\u202e)" + std::string(73, 'a') + R"("… is 1, expected an object)"},
};

}  // namespace

TEST_CASE("safetensors: hostile headers are refused in one line") {
  for (const HostileHeader& h : kHostileHeaders) {
    CAPTURE(h.header.substr(0, 200));
    const std::string file = file_of(h.header, std::string(h.data_bytes, '\0'));
    CHECK(error_of([&] { parse(file); }) == "[safetensors] f: " + h.error);
  }
}

TEST_CASE("safetensors: the length of the header is checked before it is believed") {
  const auto error_of_bytes = [](const std::string& file) { return error_of([&] { parse(file); }); };
  CHECK(error_of_bytes("") == "[safetensors] f: 0 bytes, expected a length of 8 bytes and a header");
  CHECK(error_of_bytes("1234567") == "[safetensors] f: 7 bytes, expected a length of 8 bytes and a header");
  CHECK(error_of_bytes(std::string(8, '\xff') + "{}") ==
        "[safetensors] f: header of 18446744073709551615 bytes, expected at most 2");
  CHECK(error_of_bytes(std::string(8, '\0')) == "[safetensors] f: the header does not begin with '{'");

  const TemporaryDirectory directory;
  const fs::path path = directory / "sparse.safetensors";
  AtomicFile file(path);
  const std::uint64_t length = 100'000'001;
  file.write(std::as_bytes(std::span(&length, 1)));
  file.commit();
  fs::resize_file(path, 200'000'000);
  CHECK(error_of([&] { load_safetensors(path); }) ==
        fmt::format("[safetensors] {}: header of 100000001 bytes, expected at most 100000000", path.string()));
}

TEST_CASE("safetensors: a file that a user has taken for another is named") {
  const auto kind = [](const std::string& file) {
    const std::string error = error_of([&] { parse(file); });
    const std::string_view before = "[safetensors] f: is ", after = ", expected a safetensors file";
    return error.starts_with(before) ? error.substr(before.size(), error.find(after) - before.size()) : "?";
  };
  CHECK(kind("x,y\n1,2\n3,4\n") == "a table (CSV)");
  CHECK(kind("# a, b\n\"x\",\"y\"\r\n1,2\r\n") == "a table (CSV)");
  CHECK(kind("only words, and = signs\n") == "text");
  CHECK(kind("h\xc3\xa4tt' ich nicht gedacht\n") == "text");
  CHECK(kind("{\"a\": {\"b\": 1}}") == "text (JSON or TOML)");
  CHECK(kind("[train]\nsteps = 5\n") == "text (JSON or TOML)");
  CHECK(kind(std::string("PK\3\4\0\0\0\0\0", 9)) == "a ZIP archive (PyTorch's format, or an .npz)");
  CHECK(kind(std::string(9, '\1')) == "?");
  CHECK(kind("abcdefgh{") == "?");  // may be a length and a header
}

TEST_CASE("safetensors: zero-size tensors stand at any boundary") {
  const std::string empty = R"({"dtype":"F64","shape":[0],"data_offsets":[)";
  const TensorFile file = parse(file_of(R"({"a":)" + empty + R"(0,0]},"b":)" + empty + R"(4,4]},"c":)" + empty +
                                            R"(4,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                        std::string(4, '\0')));
  CHECK(file.tensors.size() == 4);
  CHECK(file.tensors.at("b").raw().data() != file.tensors.at("c").raw().data());
}

TEST_CASE("check_names lists everything that does not fit") {
  const Tensor pair = Tensor::zeros({2});
  const TensorFile file{{}, {{"a", pair}, {"b", pair}, {"x\n", pair}}};
  CHECK_NOTHROW(check_names({{"a", {2}}, {"b", {2}}, {"x\n", {2}}}, file, "f"));
  CHECK(error_of([&] {
          check_names({{"a", {2}}, {"b", {1, 2}}, {"c", {}}}, file, "f");
        }) == R"([safetensors] f: the tensors do not match; 1 missing: "c"; 1 unexpected: "x\n"; )"
              R"(1 of another shape: "b" is (2), expected (1, 2))");
  std::map<std::string, Shape> expected = {{"a", {2}}, {"b", {2}}, {"x\n", {2}}};
  for (int i = 10; i < 22; ++i) expected[std::to_string(i)] = {};
  CHECK(
      error_of([&] { check_names(expected, file, "f"); }) ==
      R"([safetensors] f: the tensors do not match; 12 missing: "10", "11", "12", "13", "14", "15", "16", "17", "18", )"
      R"("19", …)");
}

TEST_CASE("safetensors: the golden files load and are saved as they were") {
  const char* root = std::getenv("NPZOO_SOURCE_ROOT");
  const fs::path golden = fs::path(root ? root : ".") / "../shared/golden";
  if (!fs::is_directory(golden)) {
    MESSAGE("skipped: no golden files in " << golden.string() << "; set NPZOO_SOURCE_ROOT");
    return;
  }
  const TemporaryDirectory directory;
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (entry.path().extension() != ".safetensors") continue;
    CAPTURE(entry.path().string());
    const TensorFile file = load_safetensors(entry.path());
    CHECK(file.metadata.contains("model"));
    CHECK(file.tensors.size() > 10);
    save_safetensors(directory / "copy", file);
    CHECK(same(load_safetensors(directory / "copy"), file));
  }
}

namespace {

std::size_t below(std::size_t n, Random& random) {
  return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n)));
}

void edit(std::string& text, Random& random) {
  constexpr const char* kValues[] = {"0",       "1",          "4",      "8",
                                     "-1",      "1.5",        "1e9",    "18446744073709551615",
                                     "\"F64\"", "4294967296", "null",   "9223372036854775807",
                                     "[]",      "{}",         "\"a\":", "99999999999999999999"};
  if (text.empty()) return;
  const std::size_t at = below(text.size(), random);
  const std::size_t count = below(std::min<std::size_t>(text.size() - at, 60) + 1, random);
  switch (below(5, random)) {
    case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8, random))); break;
    case 1: text.erase(at, count); break;
    case 2: text.insert(below(text.size(), random), text.substr(at, count)); break;
    case 3: text.resize(below(8, random) ? text.size() : at); break;
    default: {
      const std::size_t digit = std::min(text.find_first_of("0123456789", at), text.size());
      const std::size_t end = std::min(text.find_first_not_of("0123456789", digit), text.size());
      text.replace(digit, end - digit, kValues[below(std::size(kValues), random)]);
    }
  }
}

/// One to three random edits. Half of the files keep the length of their header true, to reach deeper.
std::string mutate(const std::string& file, Random& random) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const bool whole = below(2, random) == 0;
  std::string text = whole ? file : file.substr(sizeof length, length);
  for (std::size_t edits = 1 + below(3, random); edits > 0; --edits) edit(text, random);
  return whole ? text : file_of(text, file.substr(sizeof length + length));
}

}  // namespace

TEST_CASE("safetensors: 60,000 damaged files load or are refused, in bounded memory") {
  const TemporaryDirectory directory;
  save_safetensors(directory / "base", sample());
  const std::string base = read_text(directory / "base");
  Random random(1);
  std::int64_t loaded = 0;
  for (int i = 0; i < 60'000; ++i) {
    const std::string file = mutate(base, random);
    reset_peak_memory();
    const std::int64_t before = memory_stats().live_bytes;
    try {
      parse(file);
      ++loaded;
    } catch (const Error& error) {
      const std::string_view message = error.what();
      REQUIRE(message.starts_with("[safetensors] f: "));
      REQUIRE(message.size() < 400);
      REQUIRE(std::ranges::none_of(message, [](char c) { return 0 <= c && c < ' '; }));
    }
    REQUIRE(memory_stats().peak_live_bytes - before <= 4 * static_cast<std::int64_t>(file.size()));
  }
  CHECK(loaded > 0);
  CHECK(loaded < 30'000);
}
