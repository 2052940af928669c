#ifndef TUNEONCE_LIB_DEFINITION_COMPILER_OPTION_H_
#define TUNEONCE_LIB_DEFINITION_COMPILER_OPTION_H_

#include <string>
#include <string_view>

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
    kLessExact,  ///< As kDiffer. The value `true` is the less exact one, which a baseline must not have.
  };

  std::string_view name;
  Type type;
  Results results;
  /// The text before the value, for each compiler that takes the option (NVRTC, ptxas, tileiras, the CPU
  /// device's compiler), or the words that stand for `true`. Empty: the compiler does not have the option.
  std::string_view cuda_cpp, ptx, tile_ir, cpu_cpp;
  std::string_view tile_cpp = {};
};

/// The option `name`. Errors: InvalidArgument, listing those there are.
Result<const CompilerOption*> FindCompilerOption(std::string_view name);

/// Returns OK if the option accepts the value. Errors: InvalidArgument, naming the option and what it accepts.
Status CheckOptionValue(const CompilerOption& option, const AxisValue& value);

/// Whether the compiler of these sources takes the option.
bool TakesOption(SourceKind kind, const CompilerOption& option);

/// Adds to `source` the values of the config's option axes that its compiler knows. A number of 0 is not set. A
/// conflict with the source's own options is kept for KernelSource::Check.
void AddAxisOptions(const Config& config, KernelSource* source);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_COMPILER_OPTION_H_
