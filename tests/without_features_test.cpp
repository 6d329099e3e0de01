#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "npzoo/datasets/pictures/archive.h"
#include "npzoo/datasets/pictures/decoders.h"
#include "npzoo/datasets/pictures/encode_png.h"
#include "npzoo/engine/exception.h"
#include "npzoo/engine/io/decoder.h"

// This program is made of the files that stand in for readers of a build without them, and links no library of npzoo.
namespace npzoo {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a build without a feature refuses its files, and names the feature and its library") {
  CHECK(message_of([] { gzip_decoder("a.csv.gz"); }) ==
        "[a.csv.gz] is compressed by gzip, which this build of npzoo cannot read: decompress it first (gzip -d), or "
        "build "
        "npzoo with -Dgzip=enabled, which needs zlib");
  CHECK(message_of([] { xz_decoder("a.csv.xz"); }) ==
        "[a.csv.xz] is compressed by xz, which this build of npzoo cannot read: decompress it first (xz -d), or build "
        "npzoo with -Dxz=enabled, which needs liblzma");
  const std::string images =
      "this build of npzoo has neither PNG nor JPEG: build it with -Dimages=enabled, which needs libpng and libjpeg";
  CHECK(message_of([] { decode_png({}, "a.png"); }) == "[images] a.png: cannot be read, since " + images);
  CHECK(message_of([] { decode_jpeg({}, "a.jpg"); }) == "[images] a.jpg: cannot be read, since " + images);
  CHECK(message_of([] { encode_png({}, "b.png"); }) == "[b.png] cannot be made, since " + images);
  CHECK(message_of([] {
          for_each_archived(
              "a.zip", [](const std::string&) { return true; }, [](PictureFile) {});
        }) ==
        "[images] a.zip: is a file, and this build of npzoo cannot read archives: unpack it into a folder, or build "
        "npzoo "
        "with -Darchive=enabled, which needs libarchive");
}

}  // namespace
}  // namespace npzoo
