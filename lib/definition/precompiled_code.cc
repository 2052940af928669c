#include "definition/precompiled_code.h"

namespace tuneonce {
inline namespace v0 {

PrecompiledCode::~PrecompiledCode() = default;

Fingerprint PrecompiledKey(const KernelSource& source, const Hints& hints, const Target& target) {
  return Fingerprinter()
      .Add("precompiled")
      .Add(source.Fingerprint())
      .Add(hints.Fingerprint())
      .Add(target.name())
      .Finish();
}

}  // namespace v0
}  // namespace tuneonce
