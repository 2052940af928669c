#include "base/number_text.h"

#include <cstdlib>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool Read(const std::string& text, double* value) { return absl::SimpleAtod(text, value); }
bool Read(const std::string& text, float* value) { return absl::SimpleAtof(text, value); }

template <typename Real>
std::string Shortest(Real value) {
  std::string scientific;
  int more = 0;  // Digits after the first.
  for (; more < std::numeric_limits<Real>::max_digits10; ++more) {
    scientific = absl::StrFormat("%.*e", more, value);
    Real read = 0;
    if (Read(scientific, &read) && read == value) break;
  }
  int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  std::string fixed = absl::StrFormat("%.*f", exponent < more ? more - exponent : 0, value);
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

}  // namespace

std::string ShortestText(double value) { return Shortest(value); }
std::string ShortestText(float value) { return Shortest(value); }

}  // namespace v0
}  // namespace tuneonce
