class Npzoo < Formula
  desc "Neural processes: fill tables, forecast and optimise with uncertainty"
  homepage "@HOMEPAGE@"
  url "@URL@"
  version "0.1.0"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "boost" => :build
  depends_on "cli11" => :build
  depends_on "eigen" => :build
  depends_on "meson" => :build
  depends_on "nanoflann" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => [:build, :test]
  depends_on "tomlplusplus" => :build
  depends_on "cairo"
  depends_on "fmt"
  depends_on "jpeg-turbo"
  depends_on "libarchive"
  depends_on "libpng"
  depends_on :linux
  depends_on "nlohmann-json"
  depends_on "xxhash"
  depends_on "xz"
  depends_on "zlib"

  # Headers alone.
  resource "random123" do
    url "@URL_RANDOM123@"
    sha256 "@SHA256_RANDOM123@"
  end

  def install
    # Headers of npzoo include those of Random123.
    resource("random123").stage { include.install "include/Random123" }
    ENV.append "CXXFLAGS", "-isystem #{include}"
    # Homebrew has Eigen's headers in include/eigen3 of its own folder.
    ENV.append "CXXFLAGS", "-isystem #{Formula["eigen"].opt_include}"

    system "meson", "setup", "build", "-Ddefault_library=shared", "-Dcuda=disabled", "-Demulator=disabled",
           "-Dtests=false", *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/npzoo version")
    assert_match "kriging-tnp:npzoo/any-1d", shell_output("#{bin}/npzoo list weights")
    (testpath/"table.csv").write "x,y\n0,1\n1,2\n2,\n3,4\n4,5\n"
    system bin/"npzoo", "predict", "table.csv", "--out", "filled.csv"
    assert_match "mean_y", (testpath/"filled.csv").read
    (testpath/"test.cpp").write <<~CPP
      #include "npzoo/engine/tensor.h"
      int main() { return npzoo::Tensor::full({2, 3}, 1.5).values<float>()[5] == 1.5f ? 0 : 1; }
    CPP
    flags = shell_output("pkgconf --cflags --libs npzoo").split
    system ENV.cxx, "-std=c++20", "test.cpp", "-o", "test", *flags
    system "./test"
  end
end
