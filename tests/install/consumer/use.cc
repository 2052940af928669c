#include "use.h"

#include <string>

tuneonce::Status UseTuneonce() {
  using namespace tuneonce;
  SearchSpace space;
  IntAxis value = space.AddAxis("VALUE", {1, 2});
  space.SetBaseline({{value, 1}});
  KernelDefinition definition("set");
  definition.Parameters({Out("y", kFloat32, {"N"})})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(
                               "static void set(const tuneonce_block&, float* y) { *y = 5 + 0 * VALUE; }\n"
                               "TUNEONCE_CPU_KERNEL(set);",
                               "set")
                        .Define("VALUE", c[value]);
                  }).Grid(Grid::Fixed(1)));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), sizeof(float)));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::Create(definition));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), TensorView::Contiguous(y.data(), DType::kFloat32, {1})));
  float got = 0;
  TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(&got, sizeof(got)));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  if (got != 5) return InternalError("the kernel did not run");
  // Texts that tuneonce makes with its own Abseil, beside the host's.
  return OpenDevice("no-such-device").status().message().find("no-such-device") != std::string::npos
             ? Status()
             : InternalError("an error's text is broken");
}
