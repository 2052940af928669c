#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
    return InvalidArgumentError(absl::StrCat("Matmul: it has no tensor '", *tensor, "'"));
  }
  for (const std::string* dim : {&matmul_->m, &matmul_->n, &matmul_->k, &matmul_->batch}) {
    const bool is_left_out = dim == &matmul_->batch && dim->empty();
    if (is_left_out || std::find(dims_.begin(), dims_.end(), *dim) != dims_.end()) continue;
    return InvalidArgumentError(
        absl::StrCat("Matmul: it has no dim '", *dim, "'; it has: ", absl::StrJoin(dims_, ", ")));
  }
  for (const std::string* axis : {&matmul_->tile_m, &matmul_->tile_n, &matmul_->tile_k}) {
    if (space_.HasIntAxis(*axis)) continue;
    return InvalidArgumentError(absl::StrCat("Matmul: its space has no axis '", *axis, "' of whole numbers"));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
