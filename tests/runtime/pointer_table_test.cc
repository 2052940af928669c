// Tensors that a kernel reaches by a table of pointers: launched, and tuned, as others are.
#include "testing/pointer_table_test.h"

#include <memory>
#include <thread>
#include <vector>

#include "cuda/graph.h"
#include "launch/device_table.h"

namespace tuneonce {
namespace {

using testing::PointerTableTest;

TEST_F(PointerTableTest, IsTunedOncePerKeyAndThenHits) {
  TunedKernel kernel = Create(Doubled());
  for (float value : {3.0f, 4.0f, 5.0f}) ExpectWorks(kernel, {5, 2, 7}, value);
  EXPECT_EQ(kernel.counters().tunes, 1) << "tables and tensors at other addresses are no other key";
  EXPECT_EQ(kernel.counters().hits, 2);
  ExpectWorks(kernel, {5, 7});
  EXPECT_EQ(kernel.counters().tunes, 2) << "another number of groups";
  ASSERT_EQ(policy_.store->List()->size(), 2u);
  EXPECT_EQ((*policy_.store->List())[0].key.key_text, "G=3, M=7, N=4, x:float32, rows:int32, y:float32");
  EXPECT_EQ(kernel.counters().failed_tunes, 0);
}

TEST_F(PointerTableTest, OneTensorMayStandInTheTableOfInputsAndInThatOfOutputs) {
  const std::vector<int> rows = {3, 1, 3};
  Group x = Make(rows, 3);
  DeviceBuffer sizes = Ints(rows);
  TunedKernel kernel = Create(Doubled());
  for (float value : {6.0f, 12.0f}) {
    ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), x.table()));
    EXPECT_TRUE(AreAll(x, value)) << "doubled once, in place, by the launch";
  }
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(PointerTableTest, TensorsWithoutElementsMayBeNullAndOthersMayNot) {
  TunedKernel kernel = Create(Doubled());
  const std::vector<int> rows = {2, 0, 3};
  ExpectWorks(kernel, rows);
  EXPECT_EQ(kernel.counters().tunes, 1);
  ExpectWorks(kernel, {0, 0, 0});
  ExpectWorks(kernel, {});
  EXPECT_EQ(kernel.counters().tunes, 1) << "there is nothing to launch";
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer sizes = Ints(rows);
  std::vector<TensorView> views(x.table().tensors, x.table().tensors + 3);
  views[2].data = nullptr;
  EXPECT_ERROR(
      kernel.Launch(stream_->get(), PointerTable::Of(x.table().view.data, views.data(), 3), View(sizes), y.table()),
      StatusCode::kInvalidArgument,
      "parameter 'x': tensor 2 of the table is a null pointer, although the tensor has elements");
}

TEST_F(PointerTableTest, AnAlignmentIsThatOfTheLeastAlignedTensor) {
  KernelDefinition definition = Doubled();
  KernelDefinition both("doubled");
  Variant aligned = definition.variants()[0], any = definition.variants()[0];
  aligned.Named("aligned").Assuming({Aligned("x", 16), Aligned("y", 16)});
  both.Parameters(definition.parameters()).Space(definition.space()).AddVariant(aligned).AddVariant(any.Named("any"));
  TunedKernel kernel = Create(both);
  ExpectWorks(kernel, {2, 3});
  Group y = Make({2, 3}, -1);
  DeviceBuffer sizes = Ints({2, 3}), memory = Floats(std::vector<float>(64, 3));
  std::vector<TensorView> views = {TensorView::Contiguous(memory.data(), kFloat32, {2, 4}),
                                   TensorView::Contiguous(static_cast<float*>(memory.data()) + 33, kFloat32, {3, 4})};
  std::unique_ptr<DeviceTable> x = *DeviceTable::Create(views, stream_->view());
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(kernel.Launch(stream_->get(), x->table(), View(sizes), y.table()));
    EXPECT_TRUE(AreAll(y, 6));
  }
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 2u) << "one more, without the variant for aligned tensors";
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(PointerTableTest, IsCapturedIntoAGraph) {
  TunedKernel kernel = Create(Doubled());
  const std::vector<int> rows = {2, 3};
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer sizes = Ints(rows);
  ASSERT_OK(kernel.Warmup(stream_->get(), x.table(), View(sizes), y.table()));
  EXPECT_TRUE(AreAll(y, -1));
  Result<GraphExec> graph = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, x.table(), View(sizes), y.table()); });
  ASSERT_OK(graph);
  EXPECT_EQ(kernel.counters().capture_misses, 0);
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_TRUE(AreAll(y, 6));
}

TEST_F(PointerTableTest, ARecordServesAnotherKernelAndSoDoesExplain) {
  TunedKernel first = Create(Doubled());
  ExpectWorks(first, {5, 2, 7});
  TunedKernel second = Create(Doubled());
  Group x = Make({5, 2, 7}, 3), y = Make({5, 2, 7}, -1);
  DeviceBuffer sizes = Ints({5, 2, 7});
  Result<LaunchPlan> plan = second.Explain(stream_->get(), {x.table(), View(sizes), y.table()});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->config->ToString(), "KIND=1");
  ExpectWorks(second, {5, 2, 7});
  EXPECT_EQ(second.counters().tunes, 0);
  EXPECT_EQ(second.counters().stored_hits, 1);
}

TEST_F(PointerTableTest, ManyThreadsMayLaunchIt) {
  TunedKernel kernel = Create(Doubled());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ScopedContext current(context_->view());
      for (int round = 0; round < 10; ++round) ExpectWorks(kernel, {5, 2, 7}, static_cast<float>(i + 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(PointerTableTest, ALauncherGetsTheTrialsTable) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("filled");
  definition.Parameters({Out("y", kFloat32, {"G", "M", "N"}).ByPointers({"M"})})
      .Space(space)
      .AddVariant(Callable([&](CUstream stream, const Config&, const CallArguments& arguments) {
        const PointerTable& table = arguments.table("y");
        EXPECT_EQ(arguments.tensor("y").data, table.view.data);
        for (std::size_t i = 0; i < table.count; ++i) {
          RelaxedDriver driver(api());
          const auto at = reinterpret_cast<CUdeviceptr>(table.tensors[i].data);
          if (driver->MemsetD8Async(at, 0, table.tensors[i].bytes, stream) != CUDA_SUCCESS) {
            return InternalError("memset");
          }
        }
        return Status();
      }));
  Group y = Make({2, 3}, -1);
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(), y.table()));
  EXPECT_TRUE(AreAll(y, -1));
  ASSERT_OK(kernel.Launch(stream_->get(), y.table()));
  EXPECT_TRUE(AreAll(y, 0));
}

}  // namespace
}  // namespace tuneonce
