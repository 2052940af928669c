#ifndef TUNEONCE_LIB_DEFINITION_PRECOMPILED_CODE_H_
#define TUNEONCE_LIB_DEFINITION_PRECOMPILED_CODE_H_

#include <optional>
#include <string>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Code that was compiled ahead from sources, on any machine: the code of a precompiled bundle, which replaces a
/// compiler. Thread rule: any thread may call const functions.
class PrecompiledCode {
 public:
  struct Image {
    std::string bytes;                        ///< A cubin, or the CPU device's shared object.
    std::string symbol;                       ///< The kernel's name in it.
    std::string toolchain;                    ///< Artifact::toolchain.
    std::string cpu;                          ///< The processor that CPU device code was compiled for, and runs on.
    std::vector<std::string> parameters;      ///< Artifact::parameters.
    std::vector<CodeAssumption> assumptions;  ///< Artifact::assumptions.
    Status refusal;  ///< The compiler's error if it rejected the source; `bytes` is empty then.
  };
  virtual ~PrecompiledCode();

  /// Nothing if it was not compiled ahead. Errors: it was, and cannot be used: InvalidArgument (damaged), NotFound.
  virtual Result<std::optional<Image>> Find(const Fingerprint& key) const = 0;
  /// True if anything was compiled for targets of this name.
  virtual bool IsFor(const std::string& target) const = 0;
  /// "the bundle FOLDER was compiled ahead for sm_80, sm_90", for messages.
  virtual std::string Description() const = 0;
};

/// Returns the key of the code of `source` with `hints` for `target`. It depends on content alone, so it is the same
/// wherever the bundle is.
Fingerprint PrecompiledKey(const KernelSource& source, const Hints& hints, const Target& target);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_PRECOMPILED_CODE_H_
