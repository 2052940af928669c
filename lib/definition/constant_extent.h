#ifndef TUNEONCE_LIB_DEFINITION_CONSTANT_EXTENT_H_
#define TUNEONCE_LIB_DEFINITION_CONSTANT_EXTENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tuneonce/arguments.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class KernelDefinition;

/// Returns the number of an entry of Parameter::dims that is a constant extent ("=4"), or 0 for an invalid number.
/// Returns nothing for a dim's name.
std::optional<std::int64_t> ConstantExtent(const std::string& entry);

/// The extent that an entry of Parameter::dims stands for where the dims are these.
std::int64_t ExtentAt(const KernelDefinition& definition, const std::string& entry, const Dims& dims);

/// InvalidArgument that names the parameter of the kernel, the dimension and both numbers.
Status OtherConstantExtent(const std::string& kernel, const std::string& parameter, std::size_t dimension,
                           std::int64_t extent, std::int64_t constant);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_CONSTANT_EXTENT_H_
