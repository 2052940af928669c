#include "tuneonce/key.h"

#include "absl/strings/str_cat.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

std::string KeyPart::ToString(std::int64_t value) const {
  switch (kind) {
    case Kind::kDType:
      return absl::StrCat(name, ":", std::string(DTypeName(static_cast<DType>(value))));
    case Kind::kValue:
      return absl::StrCat(name, "=", value);
    case Kind::kDim:
      break;
  }
  return absl::StrCat(name, bucket == Bucket::kExact ? "=" : "<=", value);
}

}  // namespace v0
}  // namespace tuneonce
