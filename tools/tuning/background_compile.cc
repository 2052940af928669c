#include "tuning/background_compile.h"

#include <optional>
#include <utility>
#include <vector>

#include "shared/compile_pool.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
inline namespace v0 {

struct BackgroundCompile::Impl {
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<CompilePool> pool;
  std::optional<CompiledJob> done;
};

BackgroundCompile::BackgroundCompile(std::shared_ptr<Runtime> runtime, KernelSource source, const Target& target,
                                     StopToken stop)
    : impl_(std::make_unique<Impl>()) {
  impl_->runtime = std::move(runtime);
  CompileJob job;
  job.alternatives.push_back({std::move(source), Hints()});
  CompileOptions options;
  options.cache = impl_->runtime->memory_store();
  options.stop = std::move(stop);
  impl_->pool = std::make_unique<CompilePool>(impl_->runtime->compile_slots(), impl_->runtime->toolchains(), target,
                                              std::vector<CompileJob>{std::move(job)}, options);
}

BackgroundCompile::~BackgroundCompile() = default;

const Result<Artifact>& BackgroundCompile::Wait() {
  if (!impl_->done) impl_->done = impl_->pool->Next();
  return impl_->done->artifact;
}

bool BackgroundCompile::is_from_cache() const { return impl_->done->from_cache; }

}  // namespace v0
}  // namespace tuneonce
