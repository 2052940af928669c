#include "runtime/announcer.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

void Announcer::Warn(const std::string& line) const {
  policy_.search.runtime->Warn("kernel '" + definition_.name() + "': " + line);
  Tell([&](AutotuneObserver& observer) { observer.OnWarning("kernel '" + definition_.name() + "': " + line); });
}

void Announcer::WarnOfStore(const Status& failed, const char* consequence) const {
  if (policy_.store->IsNews(failed.message())) Warn(failed.message() + consequence);
}

std::string Announcer::KeyText(const BoundCall& call, VariantSet left_out) const {
  std::vector<std::uint64_t> words(binder_.num_key_words());
  binder_.KeyWords(call, words.data());
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", definition_.KeyPartText(i, words[i]));
  }
  const char* before = ", without ";
  for (std::size_t i = 0; i < definition_.variants().size(); ++i) {
    if (!left_out.Has(i)) continue;
    absl::StrAppend(&text, before, definition_.variants()[i].name);
    before = " and ";
  }
  for (std::size_t i = 0; i < definition_.requirement_atoms().size(); ++i) {
    if (!left_out.Has(definition_.variants().size() + i)) continue;
    absl::StrAppend(&text, before, definition_.requirement_atoms()[i].ToString());
    before = " and ";
  }
  return text;
}

}  // namespace v0
}  // namespace tuneonce
