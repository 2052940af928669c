#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {

const void* Problem::FindScalar(int parameter, DType dtype) const {
  auto refuse = [&](const std::string& why) {
    throw StatusException{InvalidArgumentError(
        absl::StrCat("parameter ", parameter, " was read as a ", std::string(DTypeName(dtype)), " scalar: ", why))};
  };
  if (parameter < 0 || parameter >= kMaxParameters) refuse("the kernel has no such parameter");
  auto index = static_cast<std::size_t>(parameter);
  if (values[index] == nullptr) refuse("the value is not part of the key: add ValueOf(NAME) to the key");
  if (dtypes[index] != dtype) refuse(absl::StrCat("it is a ", std::string(DTypeName(dtypes[index]))));
  return values[index];
}

}  // namespace v0
}  // namespace tuneonce
