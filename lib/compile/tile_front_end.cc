#include "compile/tile_front_end.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "compile/dependency_file.h"
#include "compile/nvrtc_source.h"
#include "compile/toolbox.h"
#include "definition/source_identity.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Most instances of one run, however fast they were.
constexpr std::size_t kMostInstances = 256;
/// Of bytecode in memory. A kernel has 2 to 10 KiB.
constexpr std::size_t kMostKernelBytes = std::size_t{64} << 20;
/// The entry that NVRTC puts into a module without kernels.
constexpr char kDummyKernel[] = "__$dummy_kernel";

std::string FolderOfFile(const std::string& path) { return path.substr(0, path.rfind('/')); }

Fingerprint KeyOf(const Fingerprint& batch, const std::string& expression) {
  return Fingerprinter().Add(batch).Add(expression).Finish();
}

/// Whether one of several instances may have failed their run: it does not compile, crashes NVRTC, or takes too long.
bool MayBeOfOneInstance(const Status& failure) {
  return failure.code() == StatusCode::kInvalidArgument || failure.code() == StatusCode::kInternal ||
         failure.code() == StatusCode::kDeadlineExceeded;
}

/// The kernel that NVRTC calls `symbol`, out of the bytecode of a whole run.
Result<std::shared_ptr<LoweredTileKernel>> KernelOf(const std::string& bytecode, const TileIrModule& module,
                                                    const std::string& symbol, const std::string& expression) {
  auto entry = std::find_if(module.entries.begin(), module.entries.end(),
                            [&](const TileIrEntry& each) { return each.name == symbol; });
  if (entry == module.entries.end()) {
    return InvalidArgumentError(absl::StrCat("'", expression, "' is not a tile kernel: its function is __global__; ",
                                             "declare it __tile_global__, or use it as CUDA C++"));
  }
  auto kernel = std::make_shared<LoweredTileKernel>();
  TUNEONCE_ASSIGN_OR_RETURN(kernel->bytecode, ExtractTileIrEntry(bytecode, symbol));
  kernel->symbol = symbol;
  return kernel;
}

}  // namespace

TileOptions TileOptions::Of(const std::vector<std::string>& options) {
  TileOptions split;
  for (const std::string& option : options) {
    const bool is_of_tileiras = absl::StartsWith(option, "--opt-level") || absl::StartsWith(option, "-O") ||
                                option == "--lineinfo" || option == "--ftz" || option == "--approx";
    (is_of_tileiras && !absl::StartsWith(option, "-Ofc") ? split.of_tileiras : split.of_nvrtc).push_back(option);
  }
  return split;
}

/// Withdraws what was announced, of those expressions that are still waiting.
class TileFrontEnd::Announcement {
 public:
  explicit Announcement(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~Announcement() {
    MutexLock lock(shared_->mutex);
    for (const auto& [batch, expressions] : expressions_) {
      auto found = shared_->batches.find(batch);
      if (found == shared_->batches.end()) continue;
      std::vector<std::string>& waiting = found->second.waiting;
      waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                   [&, &mine = expressions](const std::string& each) { return mine.count(each) != 0; }),
                    waiting.end());
      if (--found->second.num_announcements == 0) shared_->batches.erase(found);
    }
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

  void Add(const Request& request) {
    MutexLock lock(shared_->mutex);
    auto [mine, is_first] = expressions_.try_emplace(request.batch);
    Batch& batch = shared_->batches[request.batch];
    if (is_first) ++batch.num_announcements;
    if (mine->second.insert(request.expression).second) batch.waiting.push_back(request.expression);
  }

 private:
  const std::shared_ptr<Shared> shared_;
  std::map<Fingerprint, std::set<std::string>> expressions_;
};

Result<const NvrtcLibrary*> TileFrontEnd::Nvrtc() const {
  const Environment& environment = tools_->environment();
  std::vector<std::string> folders;
  if (Result<Tool> tileiras = tools_->Find("tileiras", environment.tileiras); tileiras.ok()) {
    const std::string root = FolderOfFile(FolderOfFile(RealPath(tileiras->path)));
    folders = {root + "/lib", root + "/lib64"};
  }
  for (const std::string& packages : PythonPackageFolders(environment)) {
    folders.push_back(packages + "/nvidia/cu13/lib");
  }
  if (!environment.cuda_home.empty()) folders.push_back(environment.cuda_home + "/lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  return NvrtcLibrary::LoadForTile(environment, folders);
}

CudaHeaders TileFrontEnd::Headers() const {
  Result<const NvrtcLibrary*> nvrtc = Nvrtc();
  return CudaHeaders::Find(tools_->environment(), nvrtc.ok() ? (*nvrtc)->folder : "", /*for_tile=*/true);
}

TileFrontEnd::Request TileFrontEnd::RequestOf(const KernelSource& source, const Target& target) {
  NameExpression expression = NameExpression::Of(source.symbol, source.defines);
  Request request;
  request.expression = std::move(expression.text);
  request.defines = std::move(expression.defines);
  Fingerprinter batch;
  batch.Add(source.TextFingerprint()).Add(NvrtcFileOf(source)).Add(target.name()).Add(request.defines.size());
  for (const std::string& define : request.defines) batch.Add(define);
  for (const std::string& option : TileOptions::Of(source.options).of_nvrtc) batch.Add(option);
  request.batch = batch.Finish();
  request.key = KeyOf(request.batch, request.expression);
  return request;
}

std::shared_ptr<void> TileFrontEnd::Announce(const std::vector<const KernelSource*>& sources, const Target& target) {
  auto announcement = std::make_shared<Announcement>(shared_);
  for (const KernelSource* source : sources) {
    if (source->Check().ok() && source->withheld == nullptr) announcement->Add(RequestOf(*source, target));
  }
  return announcement;
}

std::shared_ptr<const LoweredTileKernel> TileFrontEnd::Find(const Fingerprint& key) const {
  std::shared_ptr<const LoweredTileKernel> kernel;
  {
    MutexLock lock(shared_->mutex);
    auto found = shared_->kernels.find(key);
    if (found != shared_->kernels.end()) kernel = found->second;
  }
  return kernel != nullptr && DependenciesHold(kernel->made_of) ? kernel : nullptr;
}

Status TileFrontEnd::FailureOf(const Request& request) const {
  MutexLock lock(shared_->mutex);
  auto batch = shared_->batches.find(request.batch);
  if (batch == shared_->batches.end()) return Status();
  auto failure = batch->second.failures.find(request.expression);
  return failure == batch->second.failures.end() ? Status() : failure->second;
}

bool TileFrontEnd::IsAlone(const Request& request) const {
  MutexLock lock(shared_->mutex);
  auto batch = shared_->batches.find(request.batch);
  return batch == shared_->batches.end() || batch->second.cannot_share ||
         batch->second.alone.count(request.expression) != 0;
}

std::vector<std::string> TileFrontEnd::TakeChunk(const Request& request) {
  std::vector<std::string> chunk = {request.expression};
  MutexLock lock(shared_->mutex);
  auto found = shared_->batches.find(request.batch);
  if (found == shared_->batches.end()) return chunk;
  Batch& batch = found->second;
  std::vector<std::string>& waiting = batch.waiting;
  waiting.erase(std::remove(waiting.begin(), waiting.end(), request.expression), waiting.end());
  // The first run has one instance: how long that takes is the only thing known of the others.
  const bool is_alone = batch.cannot_share || batch.alone.count(request.expression) != 0;
  if (batch.seconds_per_instance == 0 || is_alone) return chunk;
  const double most = std::min(most_seconds_ / batch.seconds_per_instance, static_cast<double>(kMostInstances));
  const std::size_t num_more = std::min(waiting.size(), static_cast<std::size_t>(std::max(most, 1.0)) - 1);
  chunk.insert(chunk.end(), waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(num_more));
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(num_more));
  return chunk;
}

Result<std::shared_ptr<const LoweredTileKernel>> TileFrontEnd::Lower(const KernelSource& source, const Target& target,
                                                                     const WaitLimits& limits) {
  const Request request = RequestOf(source, target);
  for (;;) {
    if (std::shared_ptr<const LoweredTileKernel> found = Find(request.key)) return found;
    const bool is_alone = IsAlone(request);
    TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<void> lease,
                              running_.Acquire(is_alone ? request.key : request.batch, limits));
    if (std::shared_ptr<const LoweredTileKernel> found = Find(request.key)) return found;
    TUNEONCE_RETURN_IF_ERROR(FailureOf(request));
    if (is_alone != IsAlone(request)) continue;  // Its shared run failed meanwhile, or it is no longer announced.
    return LowerLocked(source, target, request, limits);
  }
}

Result<std::shared_ptr<const LoweredTileKernel>> TileFrontEnd::LowerLocked(const KernelSource& source,
                                                                           const Target& target, const Request& request,
                                                                           const WaitLimits& limits) {
  const std::vector<std::string> chunk = TakeChunk(request);
  const auto start = std::chrono::steady_clock::now();
  WaitLimits shared = limits;  // Half of the time is left for a run of this source alone.
  if (chunk.size() > 1) shared.timeout_ms = std::max(1, limits.timeout_ms / 2);
  Result<Kernels> made = Run(source, target, request, chunk, shared);
  if (chunk.size() > 1 && MayBeOfOneInstance(made.status())) {
    {
      MutexLock lock(shared_->mutex);
      if (auto batch = shared_->batches.find(request.batch); batch != shared_->batches.end()) {
        batch->second.alone.insert(chunk.begin(), chunk.end());
      }
    }
    const auto spent = std::chrono::steady_clock::now() - start;
    WaitLimits left = limits;
    left.timeout_ms -= static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(spent).count());
    left.timeout_ms = std::max(1, left.timeout_ms);
    made = Run(source, target, request, {request.expression}, left);
  }
  if (made.ok()) return made->at(request.key);
  if (made.status().code() == StatusCode::kInvalidArgument) {
    MutexLock lock(shared_->mutex);
    auto batch = shared_->batches.find(request.batch);
    if (batch != shared_->batches.end()) batch->second.failures.emplace(request.expression, made.status());
  }
  return made.status();
}

Result<TileFrontEnd::Kernels> TileFrontEnd::Run(const KernelSource& source, const Target& target,
                                                const Request& request, const std::vector<std::string>& expressions,
                                                const WaitLimits& limits) {
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, Nvrtc());
  NvrtcJob job{source, target, TileOptions::Of(source.options).of_nvrtc, request.defines, {}};
  if (!request.expression.empty()) job.expressions = expressions;
  ++num_runs_;
  Artifact made_of;
  TUNEONCE_ASSIGN_OR_RETURN(NvrtcOutput output, RunNvrtc(*tools_, *nvrtc, std::move(job), limits, &made_of));
  made_of.seconds /= static_cast<double>(expressions.size());
  TUNEONCE_ASSIGN_OR_RETURN(Kernels made, Collect(output, request, expressions, made_of));
  Keep(request, made_of, made);
  return made;
}

Result<TileFrontEnd::Kernels> TileFrontEnd::Collect(const NvrtcOutput& output, const Request& request,
                                                    const std::vector<std::string>& expressions,
                                                    const Artifact& made_of) {
  if (output.tile_ir.empty()) return InternalError("NVRTC reported success, but returned no Tile IR");
  TUNEONCE_ASSIGN_OR_RETURN(const TileIrModule module, ReadTileIr(output.tile_ir));
  Kernels made;
  for (const std::string& expression : expressions) {
    std::string symbol;
    if (!expression.empty()) {
      TUNEONCE_ASSIGN_OR_RETURN(symbol, output.LoweredName(expression));
    } else if (module.entries.size() == 1 && module.entries.front().name != kDummyKernel) {
      symbol = module.entries.front().name;
    } else {
      return InvalidArgumentError(
          absl::StrCat("the source has ",
                       module.entries.size() == 1 ? "no tile kernel other than templates" : "several tile kernels",
                       "; name one of them, or an instance such as 'scale<256>'"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<LoweredTileKernel> kernel,
                              KernelOf(output.tile_ir, module, symbol, expression));
    kernel->made_of = made_of;
    made.emplace(KeyOf(request.batch, expression), std::move(kernel));
  }
  return made;
}

void TileFrontEnd::Keep(const Request& request, const Artifact& made_of, const Kernels& made) {
  std::size_t bytes = 0;
  for (const auto& [key, kernel] : made) bytes += kernel->bytecode.size();
  MutexLock lock(shared_->mutex);
  if (auto batch = shared_->batches.find(request.batch); batch != shared_->batches.end()) {
    batch->second.seconds_per_instance = made_of.seconds;
    batch->second.cannot_share = !made_of.cacheable;
  }
  if (!made_of.cacheable) return;
  if (shared_->kernel_bytes + bytes > kMostKernelBytes) {  // They can be made again.
    shared_->kernels.clear();
    shared_->kernel_bytes = 0;
  }
  for (const auto& [key, kernel] : made) shared_->kernels[key] = kernel;
  shared_->kernel_bytes += bytes;
}

Result<KernelSource> LowerToTileIr(const KernelSource& source, const Target& target, const Environment& environment) {
  TileFrontEnd front_end(std::make_shared<const Toolbox>(environment), /*most_seconds=*/0);  // One run, of one source.
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const LoweredTileKernel> lowered,
                            front_end.Lower(source, target, WaitLimits()));
  return KernelSource::TileIr(lowered->bytecode, lowered->symbol);
}

}  // namespace v0
}  // namespace tuneonce
