#include "tuneonce/device.h"

#include <charconv>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

std::string DeviceIdentity::UuidString() const {
  std::string text = is_cpu_device ? "CPU-" : "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppendFormat(&text, "%02x", uuid[i]);
  }
  return text;
}

Result<int> Device::Count(const DriverApi& api) {
  int count = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, DeviceGetCount(&count));
  return count;
}

Result<Device> Device::Get(const DriverApi& api, int index) {
  TUNEONCE_ASSIGN_OR_RETURN(int count, Count(api));
  if (index < 0 || index >= count) {
    return InvalidArgumentError(absl::StrCat("no device ", index, ": ", api.library_path(), " has ", count,
                                             count == 1 ? " device" : " devices"));
  }
  CUdevice device = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, DeviceGet(&device, index));
  return Device(api, device);
}

Result<Device> Device::OfCurrentContext(const DriverApi& api) {
  RelaxedDriver driver(api);
  CUdevice device = 0;
  CUresult result = driver->CtxGetDevice(&device);
  if (result == CUDA_ERROR_INVALID_CONTEXT) {
    return FailedPreconditionError("this thread has no current CUDA context: make one current first");
  }
  if (result != CUDA_SUCCESS) return CudaStatus(api, result, "cuCtxGetDevice");
  return Device(api, device);
}

Result<int> Device::Attribute(CUdevice_attribute attribute) const {
  int value = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, DeviceGetAttribute(&value, attribute, device_));
  return value;
}

Result<void*> Device::DriverFunction(const std::string& name, int version) const {
  RelaxedDriver driver(*api_);
  void* address = nullptr;
  const CUresult result = driver->GetProcAddress(name.c_str(), &address, version, CU_GET_PROC_ADDRESS_DEFAULT);
  if (result == CUDA_SUCCESS && address != nullptr) return address;
  return NotFoundError(absl::StrFormat("cannot find '%s': %s has no function of that name for CUDA %d.%d", name,
                                       api_->library_path(), version / 1000, version % 1000 / 10));
}

Result<DeviceIdentity> Device::Identity() const {
  DeviceIdentity identity;
  identity.is_cpu_device = api_->is_cpu_device();
  char name[256] = {};
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, DeviceGetName(name, sizeof(name) - 1, device_));
  identity.name = name;
  std::size_t bytes = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, DeviceTotalMem(&bytes, device_));
  identity.memory_bytes = bytes;
  CUuuid uuid{};
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, DeviceGetUuid(&uuid, device_));
  std::memcpy(identity.uuid.data(), uuid.bytes, identity.uuid.size());
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, DriverGetVersion(&identity.driver_version));
  int l2_bytes = 0, has_clusters = 0;
  const struct {
    CUdevice_attribute attribute;
    int* value;
  } attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &identity.capability_major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &identity.capability_minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &identity.num_sms},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &identity.max_shared_memory_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &identity.shared_memory_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &identity.max_threads_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &identity.max_threads_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &identity.registers_per_sm},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &identity.warp_size},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &has_clusters},
  };
  for (const auto& entry : attributes) {
    TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, DeviceGetAttribute(entry.value, entry.attribute, device_));
  }
  identity.l2_bytes = static_cast<std::uint64_t>(l2_bytes);
  identity.has_clusters = has_clusters != 0;
  return identity;
}

Result<Device> OpenDevice(const std::string& name, const Environment& environment) {
  std::string kind = name.substr(0, name.find(':'));
  int index = 0;
  const char* end = name.data() + name.size();
  bool good_index = kind.size() == name.size();
  if (!good_index) {
    auto [stop, error] = std::from_chars(name.data() + kind.size() + 1, end, index);
    good_index = error == std::errc() && stop == end;
  }
  if ((kind != "cuda" && kind != "cpu") || !good_index) {
    return InvalidArgumentError(
        absl::StrCat("unknown device '", name, "': use cuda, cpu, or one with an index, as cuda:1"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api,
                            kind == "cpu" ? LoadCpuDriver(environment) : LoadCudaDriver(environment));
  return Device::Get(*api, index);
}

}  // namespace v0
}  // namespace tuneonce
