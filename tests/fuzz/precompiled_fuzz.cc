// A precompiled.json of any content, in an embedded bundle that has none of the files that it may name: refused, or
// read; then nothing of it is found that is not there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "bundle/bundle_files.h"
#include "bundle/precompiled_bundle.h"
#include "tuneonce/bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tuneonce::EmbeddedFile file{"precompiled.json", data, size};
  const tuneonce::BundleFiles files(tuneonce::EmbeddedBundle{"fuzz", &file, 1});
  auto bundle = tuneonce::PrecompiledBundle::Read(files);
  if (!bundle.ok() && bundle.status().code() != tuneonce::StatusCode::kInvalidArgument) std::abort();
  if (!bundle.ok() || *bundle == nullptr) return 0;
  for (const auto& [key, code] : (*bundle)->code()) {
    auto found = (*bundle)->Find(key);
    bool has_bytes = found.ok() && *found && (*found)->refusal.ok();
    // It may name itself; nothing else is there, and a checksum of itself it cannot hold.
    if (has_bytes || (found.ok() && !*found)) std::abort();
  }
  static_cast<void>((*bundle)->ReadSelections());
  return 0;
}
