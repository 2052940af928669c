// Launches an embedded bundle that was compiled ahead, with its selections, where there is no compiler: exit code 0
// only if nothing was compiled, nothing searched, and the sum is right.
#include <cstdio>
#include <vector>

#include "tuneonce/tuneonce.h"
#include "vector_add_bundle.h"

namespace {

using namespace tuneonce;

Status Run() {
  constexpr std::int64_t kN = 1000;  // What its selections are for.
  RuntimeOptions options;
  options.environment = {{"CXX", "/nowhere/c++"}, {"TUNEONCE_STORE", "memory"}};
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search.runtime, Runtime::Create(options));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel add, TunedKernel::FromBundle(vector_add_bundle, policy));
  std::vector<float> x(kN, 1), y(kN, 2), z(kN);
  std::vector<DeviceBuffer> buffers;
  for (const std::vector<float>* values : {&x, &y, &z}) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream.view(), kN * sizeof(float)));
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(values->data(), kN * sizeof(float)));
    buffers.push_back(std::move(buffer));
  }
  auto view = [&](std::size_t i) { return TensorView::Contiguous(buffers[i].data(), DType::kFloat32, {kN}); };
  TUNEONCE_RETURN_IF_ERROR(add.Launch(stream.get(), view(0), view(1), view(2)));
  TUNEONCE_RETURN_IF_ERROR(buffers[2].CopyToHost(z.data(), kN * sizeof(float)));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  const Counters counters = add.counters();
  const std::int64_t compiles = policy.search.runtime->num_compiles();
  std::printf("compiled_consumer: %lld searches, %lld compiles, z[0] = %g\n", static_cast<long long>(counters.tunes),
              static_cast<long long>(compiles), static_cast<double>(z[0]));
  bool is_right = z == std::vector<float>(kN, 3) && counters.tunes == 0 && counters.stored_hits == 1 && compiles == 0;
  return is_right ? Status() : Status(StatusCode::kInternal, "it searched, compiled or was wrong");
}

}  // namespace

int main() {
  const Status status = Run();
  if (!status.ok()) std::printf("compiled_consumer: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
