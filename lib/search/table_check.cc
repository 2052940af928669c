#include "search/table_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Number of elements that are read of a tensor that is not declared as a table. In a table every group has an address
/// unless it is empty.
constexpr std::size_t kMostLookedAt = 64;

Result<std::vector<std::uint64_t>> ReadWords(StreamView stream, const TensorView& tensor, std::size_t count) {
  const auto at = reinterpret_cast<CUdeviceptr>(tensor.data);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> bytes, ReadDeviceMemory(stream, at, count * sizeof(std::uint64_t)));
  std::vector<std::uint64_t> words(count);
  if (count > 0) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

Status CheckEntries(const PointerTable& table, StreamView stream) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> entries, ReadWords(stream, table.view, table.count));
  for (std::size_t i = 0; i < table.count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(table.tensors[i].data);
    if (entries[i] == address || !table.tensors[i].HasElements()) continue;
    return InvalidArgumentError(absl::StrCat("entry ", i, " of the table is 0x", absl::Hex(entries[i]), ", but tensor ",
                                             i, " is at 0x", absl::Hex(address),
                                             ": pass the tensors that the table points to, in its order"));
  }
  return Status();
}

/// Returns whether the driver knows the word as the address of memory, now or earlier. An index or count does not have
/// such a value by chance.
bool IsAddress(std::uint64_t word, const RelaxedDriver& driver, const std::vector<CUdeviceptr>& once) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 32;  // Where no device has memory.
  constexpr int kNearBits = 40;                             // More than a device has.
  if (word < kLeast) return false;
  unsigned type = 0;
  if (driver->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) == CUDA_SUCCESS) return true;
  return std::any_of(once.begin(), once.end(), [&](CUdeviceptr at) { return at >> kNearBits == word >> kNearBits; });
}

Status CheckNoAddressesIn(const TensorView& tensor, StreamView stream, const std::vector<CUdeviceptr>& once) {
  const bool is_words = tensor.dtype == DType::kInt64 || tensor.dtype == DType::kUInt64;
  if (!is_words || tensor.rank == 0 || !tensor.HasElements()) return Status();
  const std::size_t count = std::min(tensor.bytes / sizeof(std::uint64_t), kMostLookedAt);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> words, ReadWords(stream, tensor, count));
  RelaxedDriver driver(stream.api());
  for (std::size_t i = 0; i < count; ++i) {
    if (!IsAddress(words[i], driver, once)) continue;
    return InvalidArgumentError(
        absl::StrCat("element ", i, " of the input",
                     " is a device address, and what candidates write there would not be compared: declare it "
                     "ByPointers and pass a PointerTable, or declare it as raw memory if nothing is written there"));
  }
  return Status();
}

Status InParameter(const KernelDefinition& definition, const std::string& name, const Status& status) {
  return status.WithPrefix("kernel '" + definition.name() + "', parameter " + name);
}

/// Returns whether the device's kernels can access all memory of the process, regardless of its allocator (HMM, ATS).
bool ReachesHostMemory(const RelaxedDriver& driver) {
  CUdevice device = 0;
  int reaches = 0;
  return driver->CtxGetDevice(&device) == CUDA_SUCCESS &&
         driver->DeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) == CUDA_SUCCESS &&
         reaches != 0;
}

Status CheckIsOfDriver(const TensorView& tensor, StreamView stream) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (address == 0 || tensor.bytes == 0) return Status();
  RelaxedDriver driver(stream.api());
  unsigned type = 0;
  const CUresult known = driver->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  if (known != CUDA_ERROR_INVALID_VALUE || ReachesHostMemory(driver)) return Status();
  return InvalidArgumentError(absl::StrCat("the memory at 0x", absl::Hex(address),
                                           " is unknown to the device's driver: pass device memory, not host memory"));
}

}  // namespace

Status CheckTables(const KernelDefinition& definition, const BoundCall& call, StreamView stream) {
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call)) {
    TUNEONCE_RETURN_IF_ERROR(InParameter(definition, NameOf(definition.parameters()[reached.parameter], reached),
                                         CheckIsOfDriver(*reached.tensor, stream)));
  }
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const PointerTable* table = call.FindTable(definition.parameters(), i);
    if (table == nullptr) continue;
    TUNEONCE_RETURN_IF_ERROR(
        InParameter(definition, "'" + definition.parameters()[i].name + "'", CheckEntries(*table, stream)));
  }
  return CheckNoAddresses(definition, call, stream);
}

Status CheckNoAddresses(const KernelDefinition& definition, const BoundCall& call, StreamView stream,
                        const std::vector<CUdeviceptr>& once) {
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call)) {
    const Parameter& parameter = definition.parameters()[reached.parameter];
    if (parameter.access == Access::kOut) continue;
    TUNEONCE_RETURN_IF_ERROR(
        InParameter(definition, NameOf(parameter, reached), CheckNoAddressesIn(*reached.tensor, stream, once)));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
