#include "npzoo/ops/convolution/convolution.h"
#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

namespace {

struct Case {
  const char* what;
  Shape x, weight;
  ConvolutionConfig config;
};

void add_lines(GradcheckCases& cases, bool transposed) {
  const auto config = [](std::int64_t stride, Padding padding, std::int64_t more = 0, std::int64_t groups = 1) {
    return ConvolutionConfig{.stride = {stride}, .padding = {{padding}}, .output_padding = {more}, .groups = groups};
  };
  const std::int64_t more = transposed ? 1 : 0;
  const Case lines[] = {{"one of everything", {1, 1, 1}, {1, 1, 1}, {}},
                        {"no batch", {0, 5, 2}, {3, 2, 3}, {}},
                        {"no input channels", {2, 5, 0}, {3, 0, 3}, {}},
                        {"no output channels", {2, 5, 2}, {3, 2, 0}, {}},
                        {"odd", {2, 33, 5}, {5, 5, 3}, ConvolutionConfig::same(5)},
                        {"even kernel", {2, 9, 3}, {4, 3, 17}, ConvolutionConfig::same(4)},
                        {"stride 2", {3, 8, 2}, {3, 2, 2}, config(2, {1, 1}, more)},
                        {"stride larger than the kernel", {1, 10, 2}, {2, 2, 3}, config(3, {0, 1}, more)},
                        {"padding larger than the kernel", {2, 6, 2}, {2, 2, 3}, config(1, {transposed ? 2 : 4, 3})},
                        {"groups", {2, 7, 6}, {3, 2, 9}, config(2, {1, 0}, more, 3)},
                        {"depth-wise", {2, 7, 5}, {3, 1, 5}, config(1, {1, 2}, 0, 5)},
                        {"whole registers", {1, 300, 4}, {3, 4, 16}, config(1, {1, 1})}};
  for (const Case& c : lines)
    cases.add(std::string(transposed ? "transposed_convolution" : "convolution") + ", one axis, " + c.what,
              {cases.normal(c.x), cases.normal(c.weight), cases.normal({c.weight.last()})},
              [config = c.config, transposed](const std::vector<Tensor>& in) {
                return transposed ? transposed_convolution(in[0], in[1], in[2], config)
                                  : convolution(in[0], in[1], in[2], config);
              });
}

void add_images(GradcheckCases& cases, bool transposed) {
  const std::int64_t more = transposed ? 1 : 0;
  const ConvolutionConfig uneven{.stride = {2, 3}, .padding = {{{1, 0}, {0, 2}}}, .output_padding = {more, 2 * more}};
  const Case images[] = {{"one pixel", {2, 1, 1, 3}, {1, 1, 3, 2}, {}},
                         {"3 × 5", {2, 6, 7, 3}, {3, 5, 3, 4}, ConvolutionConfig::same(3, 5)},
                         {"two strides", {2, 7, 8, 2}, {3, 2, 2, 3}, uneven},
                         {"33 channels", {1, 4, 5, 33}, {3, 3, 33, 2}, ConvolutionConfig::same(3, 3)},
                         {"groups", {1, 5, 4, 4}, {3, 3, 2, 6}, {.padding = {{{1, 1}, {1, 1}}}, .groups = 2}},
                         {"depth-wise", {2, 5, 6, 3}, {3, 3, 1, 3}, {.padding = {{{1, 1}, {2, 0}}}, .groups = 3}}};
  for (const Case& c : images)
    cases.add(
        std::string(transposed ? "transposed_convolution" : "convolution") + ", images, " + c.what,
        {cases.normal(c.x), cases.normal(c.weight)}, [config = c.config, transposed](const std::vector<Tensor>& in) {
          return transposed ? transposed_convolution(in[0], in[1], {}, config) : convolution(in[0], in[1], {}, config);
        });
}

}  // namespace

void convolution_gradcheck_cases(GradcheckCases& cases) {
  for (const bool transposed : {false, true}) {
    add_lines(cases, transposed);
    add_images(cases, transposed);
  }
}

}  // namespace npzoo
