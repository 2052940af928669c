// Time of making the random inputs of a warm-up, a block of 1 MiB by dtype, and of writing as many elements one by one,
// without random numbers.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "definition/fill_bytes.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
namespace {

constexpr DType kTypes[] = {DType::kFloat8E4M3, DType::kFloat16, DType::kBFloat16, DType::kFloat32};

void BM_Fill(benchmark::State& state) {
  const DType dtype = kTypes[state.range(0)];
  KernelDefinition definition("k");
  definition.Parameters({In("x", dtype, {"N"}), Out("y", dtype, {"N"})});
  const auto count = static_cast<std::int64_t>(kMostRepeatedBytes / DTypeBytes(dtype));
  const TensorView view = TensorView::Contiguous(nullptr, dtype, {count});
  for (auto _ : state) {
    benchmark::DoNotOptimize(WarmupBytes(definition, definition.parameters()[0], Dims(), view));
  }
  state.SetLabel(std::string(DTypeName(dtype)));
}
BENCHMARK(BM_Fill)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_OneByOne(benchmark::State& state) {
  const DType dtype = kTypes[state.range(0)];
  const std::size_t size = DTypeBytes(dtype);
  std::vector<char> bytes(kMostRepeatedBytes);
  for (auto _ : state) {
    double value = -1;
    for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
      value = value < 1 ? value + 0x1.fp-17 : -1;
      EncodeElement(dtype, value, bytes.data() + i);
    }
    benchmark::DoNotOptimize(bytes.data());
  }
  state.SetLabel(std::string(DTypeName(dtype)));
}
BENCHMARK(BM_OneByOne)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tuneonce

BENCHMARK_MAIN();
