// The list of examples, and shapes from the command line.
#include <charconv>
#include <set>

#include "example.h"
#include "matmul.h"
#include "rms_norm.h"
#include "rope.h"
#include "vector_add.h"

namespace tuneonce::examples {

const std::vector<Example>& AllExamples() {
  static const auto* const examples = new std::vector<Example>{
      {"matmul",
       "c[M, N] = a[M, K] * b[K, N], blocked, float32",
       {{"M", 512}, {"N", 512}, {"K", 512}},
       DefineMatmul,
       ReferenceMatmul,
       {},
       1e-4},
      {"rms_norm",
       "rows of x[M, N] divided by their root mean square, float32",
       {{"M", 1000}, {"N", 4096}},
       DefineRmsNorm,
       ReferenceRmsNorm,
       {kRmsNormEpsilon},
       1e-4},
      {"rope",
       "rotary embedding of x[M, H, D], in place, float32",
       {{"M", 1024}, {"H", 16}, {"D", 128}, {"R", 64}},
       DefineRope,
       ReferenceRope,
       {},
       1e-5,
       /*fixed_launch_first=*/true},
      {"vector_add", "z = x + y, float32", {{"N", 1 << 22}}, DefineVectorAdd, ReferenceVectorAdd, {}, 1e-6},
  };
  return *examples;
}

Result<const Example*> FindExample(const std::string& name) {
  std::string names;
  for (const Example& example : AllExamples()) {
    if (example.name == name) return &example;
    names += (names.empty() ? "" : ", ") + example.name;
  }
  return InvalidArgumentError("unknown example '" + name + "': choose one of " + names);
}

Result<Shape> ParseShape(const Example& example, const std::vector<std::string>& settings) {
  Shape shape = example.default_shape;
  std::set<std::string> given;
  for (const std::string& setting : settings) {
    std::size_t equals = setting.find('=');
    std::string name = setting.substr(0, equals);
    std::pair<std::string, std::int64_t>* dim = nullptr;
    std::string names;
    for (auto& entry : shape) {
      if (entry.first == name) dim = &entry;
      names += (names.empty() ? "" : ", ") + entry.first;
    }
    if (equals == std::string::npos || dim == nullptr) {
      return InvalidArgumentError("--shape " + setting + ": " + example.name + " takes K=V with K one of " + names);
    }
    if (!given.insert(name).second) return InvalidArgumentError("--shape " + name + " is given twice");
    const char* begin = setting.data() + equals + 1;
    const char* end = setting.data() + setting.size();
    auto [stop, error] = std::from_chars(begin, end, dim->second);
    if (error != std::errc() || stop != end || dim->second < 1) {
      return InvalidArgumentError("--shape " + setting + ": the value must be a whole number from 1 to 2^63 - 1");
    }
  }
  return shape;
}

}  // namespace tuneonce::examples
