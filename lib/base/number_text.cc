#include "base/number_text.h"

#include <locale.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "absl/strings/numbers.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Makes "C" the locale of the calling thread for its lifetime. Other threads keep theirs.
class ScopedCLocale {
 public:
  ScopedCLocale() : before_(uselocale(CLocale())) {}
  ~ScopedCLocale() { uselocale(before_); }
  ScopedCLocale(const ScopedCLocale&) = delete;
  ScopedCLocale& operator=(const ScopedCLocale&) = delete;

 private:
  /// Kept for the process: a thread may format until its end.
  static locale_t CLocale() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
  }

  locale_t before_;
};

bool Read(const std::string& text, double* value) { return absl::SimpleAtod(text, value); }
bool Read(const std::string& text, float* value) { return absl::SimpleAtof(text, value); }

template <typename Real>
std::string Shortest(Real value) {
  if (!std::isfinite(value)) return RealText(value, 'f', 0);
  std::string scientific;
  int more = 0;  // Digits after the first.
  for (; more < std::numeric_limits<Real>::max_digits10; ++more) {
    scientific = RealText(value, 'e', more);
    Real read = 0;
    if (Read(scientific, &read) && read == value) break;
  }
  int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  std::string fixed = RealText(value, 'f', exponent < more ? more - exponent : 0);
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

}  // namespace

std::string RealText(double value, char conversion, int precision) {
  const char format[] = {'%', '.', '*', conversion, '\0'};
  ScopedCLocale locale;
  const int length = std::snprintf(nullptr, 0, format, precision, value);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');  // snprintf ends it with a zero.
  std::snprintf(text.data(), text.size(), format, precision, value);
  text.pop_back();
  return text;
}

std::string ShortestText(double value) { return Shortest(value); }
std::string ShortestText(float value) { return Shortest(value); }

}  // namespace v0
}  // namespace tuneonce
