#ifndef TUNEONCE_LIB_SEARCH_GUARDED_MEMORY_H_
#define TUNEONCE_LIB_SEARCH_GUARDED_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "measure/verify.h"
#include "search/trial_memory.h"

namespace tuneonce {
inline namespace v0 {

/// A block of memory in which pieces for trials lie between guard zones, which show writes outside of them. Work is in
/// the order of the stream that it was created on. Move-only. Thread rule: one thread.
class GuardedMemory {
 public:
  /// Before and behind each piece. Indices that are off by a row or a tile miss by some KiB: 16 KiB were seen, a row of
  /// 16384 floats is 64.
  static constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
  /// Pieces lie where memory of the driver's would: code may be compiled for it, and its speed depends on it.
  static constexpr std::size_t kAlignment = 256;

  struct Piece {
    std::size_t bytes = 0;    ///< 0: no memory, and address 0.
    CUdeviceptr like = 0;     ///< Its address is this one's modulo kAlignment.
    std::string name;         ///< "'x'": for messages.
    CUdeviceptr address = 0;  ///< Filled in.
  };

  /// Returns the size of a block for these pieces, guard zones included.
  static std::size_t BytesFor(const std::vector<Piece>& pieces);
  /// Errors: ResourceExhausted.
  static Result<GuardedMemory> Create(TrialMemory& memory, StreamView stream, std::size_t bytes);

  /// Places pieces in the block, from its beginning on, instead of those that were there. They are at the same
  /// addresses whenever their sizes are. REQUIRES: BytesFor(pieces) <= bytes().
  void LayOut(std::vector<Piece> pieces);
  /// Fills the guards of these pieces. Waits.
  Status Arm(ArrayComparer& comparer);

  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t bytes() const { return block_.buffer.bytes(); }
  Status Fill(std::size_t piece, unsigned char value) const;
  Status CopyFrom(std::size_t piece, CUdeviceptr source) const;
  /// REQUIRES: `source` stays as it is until the stream got there.
  Status CopyFromHost(std::size_t piece, const void* source) const;

  /// One guard zone, and its checksum while it is unchanged.
  struct Guard {
    MemoryRange range;
    std::uint64_t checksum = 0;
    std::string place;  ///< "behind 'x'".
  };
  const std::vector<Guard>& guards() const { return guards_; }
  /// Fills one zone again.
  Status Mend(const Guard& guard) const;

 private:
  explicit GuardedMemory(TrialMemory::Block block) : block_(std::move(block)) {}

  TrialMemory::Block block_;
  std::vector<Piece> pieces_;
  std::vector<Guard> guards_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_GUARDED_MEMORY_H_
