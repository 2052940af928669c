// Condition::Parse with any text: what it accepts prints as a text that it reads as the same condition, and the
// condition can be bound to a space, asked, and enumerated.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tuneonce/search_space.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tuneonce;  // NOLINT(google-build-using-namespace)
  Result<Condition> condition = Condition::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!condition.ok()) return 0;
  const std::string text = condition->ToString();
  Result<Condition> again = Condition::Parse(text);
  // The printed text may have more brackets, and exceed a limit.
  const bool is_too_long = !again.ok() && (again.status().message().find("too complex") != std::string::npos ||
                                           again.status().message().find("characters; at most") != std::string::npos);
  if (!is_too_long && (!again.ok() || *again != *condition)) std::abort();
  SearchSpace space;
  space.AddAxis("A", {0, 1, -3, 64});
  space.AddAxis("B", {2, 7});
  space.AddBoolAxis("flag");
  space.AddStringAxis("name", {"x", "y"});
  space.AddDoubleAxis("real", {0.5, 2});
  space.Where("it", *condition);
  if (!space.Resolve(TermNames{{"M", "N"}, {}}).ok()) return 0;
  Problem problem{};
  problem.dims = Dims(2);
  problem.dims[Dim{1}] = 48;
  Result<ConfigSet> set = space.Configs(*Target::Named("sm_90"), &problem);
  if (!set.ok()) return 0;
  for (std::int64_t i = 0; i < set->size(); ++i) {
    if (!space.Contains(set->At(i), *Target::Named("sm_90"), &problem).ok()) std::abort();
  }
  return 0;
}
