#include "store/record_keys.h"

#include <string_view>

namespace tuneonce {
inline namespace v0 {
namespace {

void AddKeyWords(const TuningKey& key, Fingerprinter* fingerprinter) {
  fingerprinter->Add(static_cast<std::uint64_t>(key.key_words.size()));
  for (std::uint64_t word : key.key_words) fingerprinter->Add(word);
}

}  // namespace

Fingerprint KernelKey(const TuningKey& key) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(key.kernel_fingerprint);
  AddKeyWords(key, &fingerprinter);
  return fingerprinter.Finish();
}

Fingerprint ShapeKey(const TuningKey& key) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(std::string_view(key.kernel));
  AddKeyWords(key, &fingerprinter);
  return fingerprinter.Finish();
}

Fingerprint FullKey(const TuningKey& key) {
  return Fingerprinter()
      .Add(KernelKey(key))
      .Add(std::string_view(key.device_name))
      .Add(static_cast<std::uint64_t>(key.capability))
      .Add(static_cast<std::uint64_t>(key.num_sms))
      .Add(static_cast<std::uint64_t>(key.driver_version))
      .Finish();
}

}  // namespace v0
}  // namespace tuneonce
