#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

KernelDefinition& KernelDefinition::Matmul(MatmulParts parts) {
  matmul_ = std::move(parts);
  return *this;
}

Status KernelDefinition::CheckMatmul() const {
  if (!matmul_) return Status();
  for (const std::string* tensor : {&matmul_->a, &matmul_->b, &matmul_->c}) {
    std::optional<std::size_t> found = FindParameter(*tensor);
    if (found && parameters_[*found].kind == ParameterKind::kTensor) continue;
    return InvalidArgumentError(
        absl::StrCat("Matmul names the tensor '", *tensor, "', but the kernel has no such tensor"));
  }
  for (const std::string* dim : {&matmul_->m, &matmul_->n, &matmul_->k, &matmul_->batch}) {
    const bool is_left_out = dim == &matmul_->batch && dim->empty();
    if (is_left_out || std::find(dims_.begin(), dims_.end(), *dim) != dims_.end()) continue;
    return InvalidArgumentError(
        absl::StrCat("Matmul names the dim '", *dim, "', but the kernel's dims are: ", ShortList(dims_, *dim)));
  }
  for (const std::string* axis : {&matmul_->tile_m, &matmul_->tile_n, &matmul_->tile_k}) {
    if (space_.HasIntAxis(*axis)) continue;
    return InvalidArgumentError(
        absl::StrCat("Matmul names the axis '", *axis, "', but the search space has no such axis of integers"));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
