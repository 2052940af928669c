#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {
namespace {

static_assert(std::is_standard_layout_v<PointerTable> && offsetof(PointerTable, view) == 0,
              "a pointer to a table is read as one to its view");

/// Returns whether the tensor is row-major without gaps. The stride of a dimension with one element does not matter.
bool IsDense(const TensorView& tensor) {
  std::int64_t dense = 1;
  for (int d = tensor.rank; d-- > 0;) {
    auto u = static_cast<std::size_t>(d);
    if (tensor.strides[u] != dense && tensor.shape[u] != 1) return false;
    dense *= tensor.shape[u];
  }
  return true;
}

}  // namespace

Status PointerTable::Check() const {
  if (reinterpret_cast<std::uintptr_t>(view.data) % alignof(void*) != 0) {
    return InvalidArgumentError(absl::StrCat("the table of addresses is not aligned to ", alignof(void*), " bytes"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const TensorView &tensor = tensors[i], &first = tensors[0];
    auto wrong = [&](const std::string& how) {
      return InvalidArgumentError(absl::StrCat("tensor ", i, " of the table ", how));
    };
    if (tensor.dtype != first.dtype || tensor.rank != first.rank) {
      return wrong(absl::StrCat("is ", tensor.ToString(), ", but the first tensor is ", first.ToString(),
                                ": all tensors of a table must have the same dtype and rank"));
    }
    if (tensor.rank < 1 || tensor.rank >= kMaxRank) {
      return wrong(absl::StrCat("has rank ", tensor.rank, "; 1 to ", kMaxRank - 1, " are possible"));
    }
    if (!tensor.HasElements()) continue;
    if (tensor.data == nullptr) return wrong("is a null pointer, although the tensor has elements");
    if (tensor.bytes == 0) return wrong("has a size of 0 bytes: make it with TensorView::Contiguous");
  }
  return Status();
}

PointerTable PointerTable::Of(void* table, const TensorView* tensors, std::size_t count) {
  PointerTable made;
  made.tensors = tensors;
  made.count = count;
  made.view.data = table;
  made.view.bytes = count * sizeof(void*);
  made.view.shape[0] = static_cast<std::int64_t>(count);
  made.view.strides[0] = 1;
  made.view.rank = 1;
  if (count == 0) return made;  // An empty table has no dtype and no rank.
  made.view.dtype = tensors[0].dtype;
  if (!made.Check().ok()) {
    made.view.rank = -1;
    return made;
  }
  made.view.rank = tensors[0].rank + 1;
  const auto rank = static_cast<std::size_t>(tensors[0].rank);
  for (std::size_t d = 0; d < rank; ++d) made.view.shape[d + 1] = tensors[0].shape[d];
  bool has_strides = false;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorView& tensor = tensors[i];
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t& extent = made.view.shape[d + 1];
      if (extent != tensor.shape[d]) made.differing |= std::uint64_t{1} << (d + 1);
      extent = std::max(extent, tensor.shape[d]);
    }
    if (!tensor.HasElements()) continue;
    made.addresses |= reinterpret_cast<std::uintptr_t>(tensor.data);
    made.num_gaps += IsDense(tensor) ? 0 : 1;
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t& stride = made.view.strides[d + 1];
      if (!has_strides) stride = tensor.strides[d];
      if (stride != tensor.strides[d]) stride = -1;
    }
    has_strides = true;
  }
  return made;
}

}  // namespace v0
}  // namespace tuneonce
