#include "search/table_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/relaxed_driver.h"
#include "tuneonce/device_buffer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Of a tensor that is not declared as a table so many elements are looked at: all groups of one have an address, but
/// for empty ones.
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

/// Of an address no index or count has the value by chance: the driver is asked whether something lies there.
Status CheckNoAddresses(const TensorView& tensor, StreamView stream) {
  const bool is_words = tensor.dtype == DType::kInt64 || tensor.dtype == DType::kUInt64;
  if (!is_words || tensor.rank == 0 || !tensor.HasElements()) return Status();
  const std::size_t count = std::min(tensor.bytes / sizeof(std::uint64_t), kMostLookedAt);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> words, ReadWords(stream, tensor, count));
  RelaxedDriver driver(stream.api());
  for (std::size_t i = 0; i < count; ++i) {
    unsigned type = 0;
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 32;  // Where no device has memory.
    if (words[i] < kLeast ||
        driver->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, words[i]) != CUDA_SUCCESS)
      continue;
    return InvalidArgumentError(
        absl::StrCat("its element ", i,
                     " is the address of memory, which candidates would write without being compared: declare it "
                     "ByPointers and pass a PointerTable, or as raw memory if nothing is written there"));
  }
  return Status();
}

}  // namespace

Status CheckTables(const KernelDefinition& definition, const BoundCall& call, StreamView stream) {
  const std::vector<Parameter>& parameters = definition.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorView* tensor = call.FindTensor(parameters, i);
    if (tensor == nullptr || (parameters[i].access == Access::kOut && !parameters[i].by_pointers)) continue;
    const PointerTable* table = call.FindTable(parameters, i);
    Status checked = table != nullptr ? CheckEntries(*table, stream) : CheckNoAddresses(*tensor, stream);
    TUNEONCE_RETURN_IF_ERROR(
        checked.WithPrefix("kernel '" + definition.name() + "', parameter '" + parameters[i].name + "'"));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
