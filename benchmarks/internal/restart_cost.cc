// What a new process pays until its first tuned launch is done, with a warm store, beside loading the same code by
// hand. restart_cost --device=cpu|cuda --store=PATH [--bundle=BUNDLE] [--by-hand] [--trace=FILE]: prints JSON. Run it
// once to tune (tunes: 1), then again (tunes: 0), and with --by-hand. Making the context and the stream is not counted:
// a host has them. The kernel is the matmul bundle's CUDA C++, or its C++ for the CPU device, whose parameters are
// plain; reading the bundle is counted by itself. BUNDLE is a folder or a name, such as that of a precompiled matmul
// bundle, which is read in place of the embedded one.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/file.h"
#include "cuda/driver_api.h"
#include "cuda/library.h"
#include "launch/call_binder.h"
#include "launch/launch.h"
#include "launch/parameter_block.h"
#include "matmul_bundle.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using Json = nlohmann::ordered_json;

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Page faults of this process until now: what the first use of memory and of the program's own pages costs.
std::int64_t PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/// What the store holds, loaded and launched by hand: with the geometry and the parameters that its launches have.
Result<Json> LaunchByHand(const Device& device, StreamView stream, const SqliteStoreOptions& options,
                          const std::vector<Argument>& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle matmul, Bundle::Load(matmul_bundle));
  const KernelDefinition& definition = matmul.definition();
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, SqliteStore::Open(options));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, store->List());
  if (records.empty()) return FailedPreconditionError("the store is empty: run without --by-hand first");
  const TuningRecord& record = records.back();
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Artifact> artifact, store->GetArtifact(record.best.artifact));
  if (!artifact) return FailedPreconditionError("the store does not have the artifact");
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(CallBinder(definition).Bind(arguments.data(), arguments.size(), &call));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  const Target target = Target::Of(identity);
  call.problem.target = &target;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition.space().Enumerate(target));
  auto config =
      std::find_if(configs.begin(), configs.end(), [&](const Config& c) { return c.IsSame(record.best.config); });
  auto variant = std::find_if(definition.variants().begin(), definition.variants().end(),
                              [&](const Variant& v) { return v.name == record.best.variant; });
  if (config == configs.end() || variant == definition.variants().end()) {
    return FailedPreconditionError("the store's record is of another bundle");
  }
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant->convention, variant->parameters));
  ParameterBlock block;
  TUNEONCE_RETURN_IF_ERROR(layout.Fill(call, *config, nullptr, &block));
  const Geometry geometry = variant->geometry(*config, call.problem);
  auto start = std::chrono::steady_clock::now();
  TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(device.api(), artifact->image));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle kernel, library.GetKernel(artifact->symbol));
  if (geometry.shared_memory_bytes > 48 << 10) {
    TUNEONCE_RETURN_IF_ERROR(kernel.SetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                 static_cast<int>(geometry.shared_memory_bytes)));
  }
  CUresult launched = LaunchKernel(device.api().launch_path(), kernel.get(), geometry, stream.get(), block.pointers());
  if (launched != CUDA_SUCCESS) return InternalError("the launch by hand was refused");
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  return Json{{"by_hand_ms", MillisecondsSince(start)}, {"image_bytes", artifact->image.size()}};
}

Result<Json> Run(const std::string& device_name, const std::string& path, const std::string& bundle, bool by_hand,
                 const std::string& trace) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(device_name));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  constexpr std::int64_t kN = 256, kHalf = 2;
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream.view(), 3 * kN * kN * kHalf));
  TUNEONCE_RETURN_IF_ERROR(buffer.Fill(0));
  auto matrix = [&](std::int64_t i) {
    return TensorView::Contiguous(static_cast<char*>(buffer.data()) + i * kN * kN * kHalf, DType::kFloat16, {kN, kN});
  };
  TensorView a = matrix(0), b = matrix(1), c = matrix(2);
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  SqliteStoreOptions options;
  options.path = path;
  Json json = {{"device", device_name}};
  if (by_hand) return LaunchByHand(device, stream.view(), options, {a, b, c});
  RuntimeOptions of_runtime;
  of_runtime.environment = {{"ENABLE_TILE", "0"}};
  std::int64_t faults = PageFaults();
  auto start = std::chrono::steady_clock::now();
  TUNEONCE_ASSIGN_OR_RETURN(Bundle matmul, bundle.empty() ? Bundle::Load(matmul_bundle) : Bundle::Load(bundle));
  json["read_bundle_ms"] = MillisecondsSince(start);
  json["read_bundle_page_faults"] = PageFaults() - faults;
  faults = PageFaults();
  start = std::chrono::steady_clock::now();
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search.runtime, Runtime::Create(of_runtime));
  if (!trace.empty()) policy.search.runtime->BeginTrace();
  TUNEONCE_ASSIGN_OR_RETURN(policy.store, SqliteStore::Open(options));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::FromBundle(matmul, policy));
  json["create_ms"] = MillisecondsSince(start);
  json["create_page_faults"] = PageFaults() - faults;
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), a, b, c));
  json["until_launched_ms"] = MillisecondsSince(start);
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  json["first_launch_ms"] = MillisecondsSince(start);
  json["first_launch_page_faults"] = PageFaults() - faults;
  if (!trace.empty()) TUNEONCE_RETURN_IF_ERROR(WriteFile(trace, policy.search.runtime->EndTrace()));
  json["tunes"] = kernel.counters().tunes;
  json["stored_hits"] = kernel.counters().stored_hits;
  return json;
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("What a new process pays until its first tuned launch is done");
  std::string device = "cpu";
  std::string store;
  std::string bundle;
  bool by_hand = false;
  std::string trace;
  app.add_option("--device", device, "cpu or cuda");
  app.add_option("--store", store, "The store's file")->required();
  app.add_option("--bundle", bundle, "The folder or the name of a matmul bundle; default: the embedded one");
  app.add_flag("--by-hand", by_hand, "Load and launch the stored code without TunedKernel");
  app.add_option("--trace", trace, "Where a trace of the first launch is written");
  CLI11_PARSE(app, argc, argv);
  tuneonce::Result<tuneonce::Json> json = tuneonce::Run(device, store, bundle, by_hand, trace);
  if (!json.ok()) {
    std::fprintf(stderr, "restart_cost: %s\n", json.status().message().c_str());
    return 1;
  }
  std::printf("%s\n", json->dump().c_str());
}
