#ifndef TUNEONCE_LIB_SEARCH_WORKER_TENSORS_H_
#define TUNEONCE_LIB_SEARCH_WORKER_TENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "search/trial_description.h"
#include "search/trial_tensors.h"
#include "tuneonce/stream.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// The addresses of a search's tensors in one worker. Tensors that trials read are copied there once. Tensors that they
/// only write have an address without memory, because trials write scratch. Tensors that share memory share it there
/// too. Thread rule: one thread.
class WorkerTensors {
 public:
  /// Memory of the worker's.
  struct Block {
    std::uint64_t address = 0;  ///< There.
    std::string handle;         ///< For ImportedBlock.
  };
  using Allocate = std::function<Result<Block>(std::size_t bytes)>;

  /// Makes sure that these ranges have an address, and returns one per range. Waits for the stream, in whose order the
  /// copies are made. Errors: those of `allocate`; the driver's.
  Result<std::vector<std::uint64_t>> Place(const std::vector<TensorRange>& ranges, const Allocate& allocate,
                                           StreamView stream);
  /// Places the tensors of a candidate's description, which then have their addresses in the worker.
  Status Place(const Candidate& candidate, const Allocate& allocate, StreamView stream, TrialDescription* description);

  /// Bytes that a call's tensors take in a worker.
  static std::size_t BytesFor(const std::vector<TensorRange>& ranges);

 private:
  using Key = std::tuple<CUdeviceptr, CUdeviceptr, bool>;  // Begin, end, read.
  static Key KeyOf(const TensorRange& range) { return {range.begin, range.end, range.read}; }

  std::map<Key, std::uint64_t> places_;
  std::uint64_t next_unread_ = std::uint64_t{1} << 62;  // Beyond all memory.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_WORKER_TENSORS_H_
