#ifndef TUNEONCE_LIB_RUNTIME_KERNEL_IN_RANKS_H_
#define TUNEONCE_LIB_RUNTIME_KERNEL_IN_RANKS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/ranked_keys.h"
#include "runtime/tuned_kernel_impl.h"

namespace tuneonce {
inline namespace v0 {

/// The warm-ups of one kernel in a group of ranks, which agrees on their keys. Each call takes part in an agreement,
/// whatever it finds, because the other ranks expect this one. Thread rule: one thread.
class KernelInRanks {
 public:
  KernelInRanks(TunedKernel::Impl* impl, CUstream stream) : impl_(*impl), stream_(stream) {}

  /// TunedKernel::Warmup with shapes, and then TunePending.
  static Status Warmup(TunedKernel* kernel, CUstream stream, const std::vector<TunedKernel::Shape>& shapes,
                       const std::function<void(std::size_t, const Status&)>& on_done);
  /// TunedKernel::Warmup with arguments, and then TunePending.
  Status WarmArguments(const Argument* arguments, std::size_t count);
  /// `patience`: a warm-up has just waited for the silent ranks.
  Status TunePending(RankedKeys::Patience patience = RankedKeys::Patience::kForAll);
  /// Takes part in an agreement with an empty list, because this rank cannot tune, and returns `why`.
  static Status TakeTurn(const TunedKernel& kernel, CUstream stream, Status why,
                         RankedKeys::Patience patience = RankedKeys::Patience::kForAll);

 private:
  TunedKernel::Impl& impl_;
  const CUstream stream_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_KERNEL_IN_RANKS_H_
