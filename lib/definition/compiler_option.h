#ifndef TUNEONCE_LIB_DEFINITION_COMPILER_OPTION_H_
#define TUNEONCE_LIB_DEFINITION_COMPILER_OPTION_H_

#include <string>
#include <string_view>

#include "tuneonce/api.h"
#include "tuneonce/config.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A compiler's option that can be an axis (SearchSpace::AddOptionAxis).
struct CompilerOption {
  enum class Type { kTruth, kNumber, kWord };
  enum class Results {
    kSame,
    kDiffer,     ///< Values differ in rounding, contraction or subnormal numbers.
    kLessExact,  ///< As kDiffer, and `true` is the less exact value, which no baseline may have.
  };

  std::string_view name;
  Type type;
  Results results;
  /// What stands before the value, by the compiler that takes it (NVRTC, ptxas, TileirasToolchain, the host's
  /// compiler), or words that are given for `true`. Empty: that compiler has no such option.
  std::string_view cuda_cpp, ptx, tile_ir, host_cpp;
  std::string_view tile_cpp = {};
};

/// The option `name`. Errors: InvalidArgument, listing those there are.
TUNEONCE_API Result<const CompilerOption*> FindCompilerOption(std::string_view name);

/// OK if the option takes the value. Errors: InvalidArgument, naming the option and what it takes.
TUNEONCE_API Status CheckOptionValue(const CompilerOption& option, const AxisValue& value);

/// Whether the compiler of these sources takes the option.
TUNEONCE_API bool TakesOption(SourceKind kind, const CompilerOption& option);

/// Adds to `source` the options that the config's option axes say and its compiler takes; others mean nothing to it. A
/// number of 0 is not set. What the source's own options say already is kept for KernelSource::Check.
TUNEONCE_API void AddAxisOptions(const Config& config, KernelSource* source);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_COMPILER_OPTION_H_
