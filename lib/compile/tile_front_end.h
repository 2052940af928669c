#ifndef TUNEONCE_LIB_COMPILE_TILE_FRONT_END_H_
#define TUNEONCE_LIB_COMPILE_TILE_FRONT_END_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/mutex.h"
#include "compile/keyed_lock.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_worker.h"
#include "compile/toolbox.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// The options of a source of CUDA Tile C++, by who takes them.
struct TileOptions {
  std::vector<std::string> of_nvrtc;
  std::vector<std::string> of_tileiras;  ///< Its optimization level, --lineinfo, and the flags that it patches.

  static TileOptions Of(const std::vector<std::string>& options);
};

/// One kernel of CUDA Tile C++ as Tile IR.
struct LoweredTileKernel {
  std::string bytecode;  ///< It has no other entry.
  std::string symbol;    ///< The lowered (mangled) name.
  Artifact made_of;      ///< log, seconds, dependencies, absent and cacheable of the run of NVRTC; no image.
};

/// Lowers one source of CUDA Tile C++ to a source of Tile IR, for those who read the bytecode and compile nothing.
/// `environment` tells where NVRTC is looked for (TileFrontEnd::Nvrtc). Errors: as TileFrontEnd::Lower.
Result<KernelSource> LowerToTileIr(const KernelSource& source, const Target& target, const Environment& environment);

/// CUDA Tile C++ -> Tile IR by NVRTC (CompileByNvrtc).
///
/// A run of NVRTC spends most of its time on headers (0.2 s, and 20 ms for each instance of a matmul). Instances that
/// differ in nothing but their name expression therefore share a run where they were announced, at most as many as
/// take `most_seconds` by what the run before took. One bad instance fails such a run, or exceeds its time, which is
/// half of the deadline; its instances are then compiled one by one, each when it is asked for. What was lowered is
/// kept in memory, so that hints cost no further run, and is served while the headers are as they were. Thread-safe.
class TileFrontEnd {
 public:
  /// `most_seconds`: what one run should take at most.
  TileFrontEnd(std::shared_ptr<const Toolbox> tools, double most_seconds)
      : tools_(std::move(tools)), most_seconds_(most_seconds) {}

  /// The first NVRTC that compiles CUDA Tile C++: `Environment::tile_nvrtc`; next to tileiras; of PyPI's wheels; of
  /// CUDA_HOME; /usr/local/cuda/lib64; where the loader looks. Errors: Unavailable.
  Result<const NvrtcLibrary*> Nvrtc() const;
  CudaHeaders Headers() const;

  /// Errors: InvalidArgument with NVRTC's message, or if the symbol names no tile kernel; Unavailable;
  /// DeadlineExceeded; Cancelled.
  Result<std::shared_ptr<const LoweredTileKernel>> Lower(const KernelSource& source, const Target& target,
                                                         const WaitLimits& limits);
  /// See Toolchain::Announce.
  std::shared_ptr<void> Announce(const std::vector<const KernelSource*>& sources, const Target& target);

  /// Runs of NVRTC so far.
  std::int64_t num_runs() const { return num_runs_; }

 private:
  using Kernels = std::map<Fingerprint, std::shared_ptr<const LoweredTileKernel>>;

  /// What is asked of NVRTC for one source.
  struct Request {
    Fingerprint batch;  ///< Identifies the sources that may share a run: everything but the expression.
    Fingerprint key;    ///< Identifies the source: `batch` and the expression.
    std::string expression;
    std::vector<std::string> defines;  ///< Those that the expression does not name.
  };
  /// Sources that may share a run, and were announced.
  struct Batch {
    int num_announcements = 0;
    std::vector<std::string> waiting;        ///< Expressions that were in no run yet.
    std::map<std::string, Status> failures;  ///< By expression: what NVRTC said of it alone.
    std::set<std::string> alone;             ///< Expressions whose shared run failed.
    double seconds_per_instance = 0;         ///< In the last run, with the time of headers; 0 before the first.
    bool cannot_share = false;               ///< What a run makes cannot be kept for those that did not ask.
  };
  class Announcement;
  struct Shared {
    Mutex mutex;
    std::map<Fingerprint, Batch> batches TUNEONCE_GUARDED_BY(mutex);
    Kernels kernels TUNEONCE_GUARDED_BY(mutex);
    std::size_t kernel_bytes TUNEONCE_GUARDED_BY(mutex) = 0;
  };

  static Request RequestOf(const KernelSource& source, const Target& target);
  std::shared_ptr<const LoweredTileKernel> Find(const Fingerprint& key) const;
  /// The failure of an expression by itself, while it is announced; OK if it is not known.
  Status FailureOf(const Request& request) const;
  bool IsAlone(const Request& request) const;
  /// The expression, and those announced that go with it into one run.
  std::vector<std::string> TakeChunk(const Request& request);
  /// Lowers the request's source while its lock is held.
  Result<std::shared_ptr<const LoweredTileKernel>> LowerLocked(const KernelSource& source, const Target& target,
                                                               const Request& request, const WaitLimits& limits);
  /// One run of NVRTC. Keeps what it made. Errors: InvalidArgument if the text does not compile; as Lower.
  Result<Kernels> Run(const KernelSource& source, const Target& target, const Request& request,
                      const std::vector<std::string>& expressions, const WaitLimits& limits);
  /// What a run made, by key. Errors: InvalidArgument for an expression that names no tile kernel.
  static Result<Kernels> Collect(const NvrtcOutput& output, const Request& request,
                                 const std::vector<std::string>& expressions, const Artifact& made_of);
  void Keep(const Request& request, const Artifact& made_of, const Kernels& made);

  const std::shared_ptr<const Toolbox> tools_;
  const double most_seconds_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();  // Announcements outlive the front end.
  KeyedLock running_;
  std::atomic<std::int64_t> num_runs_{0};
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_TILE_FRONT_END_H_
