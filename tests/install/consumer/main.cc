// Uses every layer of an installed tuneonce: a search and a launch on the CPU device; with the arguments STORE BUNDLE
// also a store on disk and a bundle. Exit code 0 only if all worked.
#include <cstdio>
#include <string>

#include "own_absl.h"
#include "tuneonce/bundle.h"
#include "tuneonce/context.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace {

tuneonce::Status Run() {
  using namespace tuneonce;
  SearchSpace space;
  IntAxis value = space.AddAxis("VALUE", {1, 2});
  space.SetBaseline({{value, 1}});
  KernelDefinition definition("set", "1");
  definition.Dims({"N"})
      .Parameters({Out("y", {"N"}, DType::kFloat32)})
      .Space(space)
      .Variant(
          [=](const Config& c, const Problem&) {
            return KernelSource::HostCpp(
                       "static void set(const tuneonce_block&, float* y) { *y = 5 + 0 * VALUE; }\n"
                       "TUNEONCE_CPU_KERNEL(set);",
                       "set")
                .Define("VALUE", c[value]);
          },
          nullptr, Grid::Fixed(1));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), sizeof(float)));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::Create(definition, device));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), TensorView::Contiguous(y.data(), DType::kFloat32, {1})));
  float got = 0;
  TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(&got, sizeof(got)));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  if (got != 5) return InternalError("the kernel did not run");
  // Texts that tuneonce makes with its own Abseil, beside the host's.
  return Bundle::Load("/no/such/bundle").status().message().find("/no/such/bundle") != std::string::npos
             ? Status()
             : InternalError("an error's text is broken");
}

tuneonce::Status RememberAndLoad(const std::string& store, const std::string& bundle) {
  using namespace tuneonce;
  SqliteStoreOptions options;
  options.path = store;
  TUNEONCE_RETURN_IF_ERROR(SqliteStore::Open(options).status().WithPrefix("the store"));
  return Bundle::Load(bundle).status().WithPrefix("the bundle");
}

}  // namespace

int main(int argc, char** argv) {
  tuneonce::Status status = Run();
  if (status.ok() && argc == 3) status = RememberAndLoad(argv[1], argv[2]);
  bool own_absl = absl::StrCat("a", "b") == "own:ab" && absl::Status(3).code() == 3;
  std::printf("consumer: %s, own absl %s\n", status.ToString().c_str(), own_absl ? "untouched" : "BROKEN");
  return status.ok() && own_absl ? 0 : 1;
}
