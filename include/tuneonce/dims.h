#ifndef TUNEONCE_DIMS_H_
#define TUNEONCE_DIMS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// Maximum number of named dims of a kernel. KernelDefinition::Validate returns InvalidArgument for more.
inline constexpr int kMaxDims = 12;

/// A typed handle of one named dim: `dims[M]` is an array index. The n-th name that appears in the shapes of the
/// kernel's parameters (or in KernelDefinition::DimsInOrder) is Dim{n}: `constexpr Dim M{0}, N{1};`.
struct Dim {
  int index = 0;
};

/// The values of a kernel's named dims in one launch, in the order of KernelDefinition::dims. It allocates no memory,
/// because each launch makes one. REQUIRES: a Dim that is used as an index is less than count().
class Dims {
 public:
  Dims() = default;
  explicit Dims(int count) { Reset(count); }

  /// Sets the number of dims and leaves their values uninitialized, because the hot path assigns each of them.
  void SetCount(int count) { count_ = count; }
  /// Sets the number of dims and all values to 0.
  void Reset(int count) {
    count_ = count;
    for (int i = 0; i < count; ++i) values_[static_cast<std::size_t>(i)] = 0;
  }

  int count() const { return count_; }
  const std::int64_t& operator[](Dim dim) const { return values_[static_cast<std::size_t>(dim.index)]; }
  std::int64_t& operator[](Dim dim) { return values_[static_cast<std::size_t>(dim.index)]; }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.count_ == b.count_ && std::equal(a.values_.begin(), a.values_.begin() + a.count_, b.values_.begin());
  }

 private:
  int count_ = 0;
  std::array<std::int64_t, kMaxDims> values_;  // The first count_ are set.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_DIMS_H_
