#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "definition/scalar_value.h"
#include "tuneonce/arguments.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/parameters.h"

namespace tuneonce {
inline namespace v0 {

std::int64_t KeyPart::Round(std::int64_t value) const {
  if (bucket == Bucket::kExact) return value;
  if (bucket == Bucket::kNextPow2) return NextPow2Of(value);
  auto at_least = std::lower_bound(values.begin(), values.end(), value);
  if (bucket == Bucket::kBounds) return at_least == values.end() ? NextPow2Of(value) : *at_least;
  if (at_least == values.end()) return values.back();
  if (at_least == values.begin()) return *at_least;
  const std::int64_t below = *(at_least - 1);
  return *at_least - value < value - below ? *at_least : below;
}

std::string KernelDefinition::KeyPartText(std::size_t index, std::uint64_t word) const {
  const KeyPart& part = key_[index];
  const std::optional<std::size_t> parameter = FindParameter(part.name);
  return part.ToString(static_cast<std::int64_t>(word), parameter ? parameters_[*parameter].dtype : DType::kAny);
}

std::string KeyPart::ToString(std::int64_t value, DType scalar_dtype) const {
  switch (kind) {
    case Kind::kDType:
      return absl::StrCat(name, ":", std::string(DTypeName(static_cast<DType>(value))));
    case Kind::kValue: {
      if (scalar_dtype == DType::kAny) return absl::StrCat(name, "=", value);
      // A boolean may have other bits than those of 0 and 1.
      const DType dtype = scalar_dtype == DType::kBool ? DType::kUInt8 : scalar_dtype;
      const std::optional<std::string> number = NumberText(dtype, &value);
      return number ? absl::StrCat(name, "=", *number) : absl::StrCat(name, "=0x", absl::Hex(value));
    }
    case Kind::kDim:
      break;
  }
  const char* relation = bucket == Bucket::kExact ? "=" : bucket == Bucket::kNearest ? "~" : "<=";
  return absl::StrCat(name, relation, value);
}

Status KeyPart::Check() const {
  const char* made_by = kind == Kind::kDim ? "KeyOf" : kind == Kind::kDType ? "DTypeOf" : "ValueOf";
  const std::string part = absl::StrCat(made_by, "('", name, "')");
  if (has_two_buckets) {
    return InvalidArgumentError(part + " has more than one of NextPow2, Buckets and Nearest: keep one");
  }
  if (bucket == Bucket::kExact) return Status();
  if (kind != Kind::kDim) return InvalidArgumentError(part + " has a bucket, but only dims can have one");
  if (bucket == Bucket::kNextPow2) return Status();
  const std::string list = part + (bucket == Bucket::kBounds ? ".Buckets" : ".Nearest");
  if (values.empty()) return InvalidArgumentError(list + " has an empty list of values");
  if (values.size() > kMostValues) {
    return InvalidArgumentError(
        absl::StrCat(list, " has ", values.size(), " values; at most ", kMostValues, " are possible"));
  }
  if (values.front() < 1) {
    return InvalidArgumentError(absl::StrCat(list, " begins with ", values.front(), "; an extent is at least 1"));
  }
  auto next = std::adjacent_find(values.begin(), values.end(), [](auto a, auto b) { return a >= b; });
  if (next == values.end()) return Status();
  return InvalidArgumentError(
      absl::StrCat(list, " has ", *(next + 1), " after ", *next, ": give each value once, in rising order"));
}

}  // namespace v0
}  // namespace tuneonce
