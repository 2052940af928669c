#ifndef TUNEONCE_AXIS_H_
#define TUNEONCE_AXIS_H_

#include <cstdint>
#include <string>

namespace tuneonce {
inline namespace v0 {

/// What an axis changes. A structural axis needs other source for each value (a tile size); a hint axis only changes
/// compiler hints of the same source (`occupancy`, `num_ctas`, `num_worker_warps`), an option axis only an option of
/// the compiler (`maxrregcount`, `ftz`).
enum class AxisKind { kStructural, kHint, kOption };

/// A typed handle of one axis of one SearchSpace: `config[axis]` is an array index, not a string lookup.
/// T is std::int64_t, double, bool or std::string. Copyable; made by SearchSpace::AddAxis. A default-made handle
/// belongs to no space.
template <typename T>
class Axis {
 public:
  Axis() = default;
  Axis(int index, std::uint64_t space_id) : index_(index), space_id_(space_id) {}

  int index() const { return index_; }
  std::uint64_t space_id() const { return space_id_; }

 private:
  int index_ = 0;
  std::uint64_t space_id_ = 0;
};

using IntAxis = Axis<std::int64_t>;

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_AXIS_H_
