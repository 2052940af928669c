#ifndef TUNEONCE_LIB_BASE_FAT_BINARY_H_
#define TUNEONCE_LIB_BASE_FAT_BINARY_H_

#include <string_view>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// True for a fatbin: images of one program for several GPU architectures, from which the driver takes one.
TUNEONCE_API bool IsFatBinary(std::string_view bytes);
/// Returns OK if the bytes are as long as the header states, because a driver receives no size and reads that many.
/// REQUIRES: IsFatBinary. Errors: InvalidArgument.
Status CheckFatBinary(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_FAT_BINARY_H_
