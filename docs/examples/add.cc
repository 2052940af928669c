// Adds two vectors on the CPU device, by a bundle: one that is found by name, or a folder.
//
//   add [BUNDLE]     the store ./tuned.db has what was tuned; what it has not is tuned
#include <cstdio>
#include <string>
#include <vector>

#include "tuneonce/tuneonce.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

Status Run(const std::string& bundle) {
  SqliteStoreOptions where;
  where.path = "./tuned.db";
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.store, SqliteStore::Open(where));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel add, TunedKernel::FromBundle(bundle, policy));

  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  std::vector<float> ones(100000, 1.0f), sums(ones.size());
  std::size_t bytes = ones.size() * sizeof(float);
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer in, DeviceBuffer::Allocate(stream.view(), bytes));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer out, DeviceBuffer::Allocate(stream.view(), bytes));
  TUNEONCE_RETURN_IF_ERROR(in.CopyFromHost(ones.data(), bytes));
  TensorView x = TensorView::Contiguous(in.data(), kFloat32, {100000});
  TensorView z = TensorView::Contiguous(out.data(), kFloat32, {100000});

  TUNEONCE_RETURN_IF_ERROR(add.Launch(stream.get(), x, x, z));
  TUNEONCE_RETURN_IF_ERROR(out.CopyToHost(sums.data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  std::printf("1 + 1 = %g, after %d searches\n", sums[0], static_cast<int>(add.counters().tunes));
  return sums == std::vector<float>(sums.size(), 2.0f) ? Status() : InternalError("that is wrong");
}

int main(int argc, char** argv) {
  Status status = Run(argc > 1 ? argv[1] : "vector_add");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
