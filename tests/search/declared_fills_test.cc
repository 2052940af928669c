// Values that are made once give tensors of every size the same bytes as those that are made for each.
#include "search/declared_fills.h"

#include "definition/fill_bytes.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

using DeclaredFillsTest = testing::CpuDeviceTest;

TEST_F(DeclaredFillsTest, ATensorHoldsWhatIsMadeForItAlone) {
  const std::vector<Parameter> parameters = {In("real", kFloat16, {"N"}),
                                             In("index", kInt32, {"N"}).ForWarmup(WarmupFill::Uniform(0, 100)),
                                             In("of_dim", kInt32, {"N"}).ForWarmup(WarmupFill::Uniform(0, "N")),
                                             In("iota", kInt64, {"N"}).ForWarmup(WarmupFill::Iota())};
  KernelDefinition definition("k");
  definition.Parameters(parameters).AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  ASSERT_OK(definition.Validate());
  Result<TrialMemory> memory = TrialMemory::Create(stream_->view().api(), 0);
  ASSERT_OK(memory);
  DeclaredFills fills(definition, stream_->view(), *memory);
  // Smaller, larger and more than what repeats.
  for (std::int64_t n : {1000, 7, 5000, 1 << 20, 300, 1 << 20}) {
    Dims dims(1);
    dims[Dim{0}] = n;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const TensorView view = TensorView::Contiguous(nullptr, parameters[i].dtype, {n});
      Result<DeviceBuffer> buffer = DeviceBuffer::Allocate(stream_->view(), view.bytes);
      ASSERT_OK(buffer);
      ASSERT_OK(fills.Fill(i, dims, view, *buffer));
      Result<std::vector<char>> expected = WarmupBytes(definition, parameters[i], dims, view);
      ASSERT_OK(expected);
      const std::size_t period = expected->size();
      while (expected->size() < view.bytes) expected->push_back((*expected)[expected->size() - period]);
      Result<std::vector<char>> read = ReadDeviceMemory(stream_->view(), buffer->get(), view.bytes);
      ASSERT_OK(read);
      EXPECT_TRUE(*read == *expected) << parameters[i].name << " at " << n;
    }
  }
}

}  // namespace
}  // namespace tuneonce
