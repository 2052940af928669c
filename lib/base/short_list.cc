#include "base/short_list.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kMostShown = 5;
/// A longer text cannot be a misspelled name, and comparing it would take time.
constexpr std::size_t kMostCompared = 64;

/// Returns how many characters have to be inserted, deleted or replaced to make one text of the other.
std::size_t EditDistance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string ShortList(std::vector<std::string> names, std::string_view wanted) {
  if (names.empty()) return "none";
  if (names.size() <= kMostShown) return absl::StrJoin(names, ", ");
  if (!wanted.empty() && wanted.size() <= kMostCompared) {
    std::vector<std::pair<std::size_t, std::string>> rated;
    for (std::string& name : names) {
      const std::size_t distance = EditDistance(std::string_view(name).substr(0, kMostCompared), wanted);
      rated.emplace_back(distance, std::move(name));
    }
    std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::move(rated[i].second);
  }
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kMostShown, ", "), ", and ",
                      names.size() - kMostShown, " more");
}

}  // namespace v0
}  // namespace tuneonce
