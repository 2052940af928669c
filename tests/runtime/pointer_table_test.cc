// Tensors that a kernel reaches by a table of pointers: tuned, compared and protected as others are.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "cuda/graph.h"
#include "launch/device_table.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
namespace {

using Mode = AutotunePolicy::Mode;

class PointerTableTest : public testing::CpuDeviceTest {
 protected:
  PointerTableTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 3;
    policy_.search.quiet = true;
  }

  /// Tensors of float32[rows, 4], each in memory of its own, filled with one value, and the table of their addresses.
  struct Group {
    std::vector<DeviceBuffer> memory;
    std::unique_ptr<DeviceTable> made;
    const PointerTable& table() const { return made->table(); }
  };
  Group Make(const std::vector<int>& rows, float value) {
    Group group;
    std::vector<TensorView> views;
    for (int count : rows) {
      group.memory.push_back(Floats(std::vector<float>(static_cast<std::size_t>(4 * count), value)));
      views.push_back(TensorView::Contiguous(group.memory.back().data(), kFloat32, {count, 4}));
    }
    group.made = *DeviceTable::Create(views, stream_->view());
    return group;
  }
  /// All elements of all tensors have this value.
  bool AreAll(const Group& group, float value) {
    return std::all_of(group.memory.begin(), group.memory.end(), [&](const DeviceBuffer& each) {
      std::vector<float> values = Read(each);
      return std::all_of(values.begin(), values.end(), [&](float v) { return v == value; });
    });
  }
  DeviceBuffer Ints(const std::vector<int>& values) {
    DeviceBuffer buffer = *DeviceBuffer::Allocate(stream_->view(), values.size() * sizeof(int));
    EXPECT_OK(buffer.CopyFromHost(values.data(), buffer.bytes()));
    EXPECT_OK(stream_->view().Synchronize());
    return buffer;
  }
  static TensorView View(const DeviceBuffer& ints) {
    return TensorView::Contiguous(ints.data(), kInt32, {static_cast<std::int64_t>(ints.bytes() / sizeof(int))});
  }

  /// y_g = 2 x_g for rows[g] rows of each group; `also` runs before, in each block. KIND=0 is the baseline, and slow.
  static KernelDefinition Doubled(const std::string& also = "", Access access = Access::kOut,
                                  std::vector<std::int64_t> kinds = {0, 1}) {
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", std::move(kinds));
    space.SetBaseline({{kind, 0}});
    const std::string source = R"(
static void doubled(const tuneonce_block& block, float* const* x, const int* rows, float* const* y, int groups) {
  const int g = static_cast<int>(block.x);
  const int count = 4 * rows[g];
  for (volatile int i = 0; i < (KIND == 0 ? 100000 : 0); i = i + 1) {}
  (void)groups;
)" + also + R"(
  for (int i = 0; i < count; ++i) y[g][i] = 2 * x[g][i];
}
TUNEONCE_CPU_KERNEL(doubled);)";
    Parameter y = Out("y", kFloat32, {"G", "M", "N"});
    y.access = access;
    KernelDefinition definition("doubled");
    definition
        .Parameters({In("x", kFloat32, {"G", "M", "N"}).ByPointers({"M"}),
                     In("rows", kInt32, {"G"}).ForWarmup(WarmupFill::Constant("M")), std::move(y).ByPointers({"M"}),
                     DimValue("G")})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::HostCpp(source, "doubled").Define("KIND", c[kind]);
                    }).Grid([](const Config&, const Problem& problem) {
          Geometry geometry;
          geometry.grid.x = problem.dims[Dim{0}];
          return geometry;
        }));
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernelOn::Create(*device_, definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  void ExpectWorks(TunedKernel& kernel, const std::vector<int>& rows, float value = 3) {
    Group x = Make(rows, value), y = Make(rows, -1);
    DeviceBuffer sizes = Ints(rows);
    ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), y.table()));
    EXPECT_TRUE(AreAll(y, 2 * value));
    EXPECT_TRUE(AreAll(x, value));
  }
  /// What a search says of KIND=1, which does `also`; nothing of the caller's may change. Empty if it won.
  std::string FailureOf(const std::string& also) {
    const std::vector<int> rows = {5, 2, 7};
    Group x = Make(rows, 3), y = Make(rows, -1);
    DeviceBuffer sizes = Ints(rows);
    Result<TuningResult> result = exhaustive_search(Doubled("if (KIND == 1) {" + also + "}"), stream_->get(),
                                                    {x.table(), View(sizes), y.table()}, policy_.search);
    EXPECT_OK(result);
    EXPECT_TRUE(AreAll(x, 3)) << "the caller's inputs are damaged";
    EXPECT_TRUE(AreAll(y, -1)) << "the caller's outputs are damaged";
    if (!result.ok() || result->failures.empty()) return "";
    return std::string(FailureKindName(result->failures[0].kind)) + ": " + result->failures[0].message;
  }

  AutotunePolicy policy_;
};

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

TEST_F(PointerTableTest, ACandidateThatIsWrongThroughTheTableFailsAndHarmsNothing) {
  EXPECT_EQ(FailureOf(""), "");
  struct Case {
    const char* also;
    const char* failure;
  };
  const Case cases[] = {
      {"if (g == 2) { for (int i = 0; i < count; ++i) y[g][i] = 2 * x[g][i] + (i == 9 ? 1 : 0); return; }",
       "wrong result: output 'y' (tensor 2): 1 of 28 elements differ"},
      {"if (g == 1) return;", "not written: output 'y' (tensor 1): 8 of 8 elements were not written"},
      {"if (g == 0) x[0][1] = 8;", "wrote an input: it wrote its input 'x' (tensor 0)"},
      {"const_cast<float**>(x)[2] = x[1];", "wrote an input: it wrote the table of 'x'"},
      {"if (g == 1) y[g][count] = 8;", "out of bounds: it wrote behind 'y' (tensor 1)"},
      {"if (g == 0) const_cast<float**>(y)[groups] = y[0];", "out of bounds: it wrote behind the table of 'y'"},
  };
  for (const Case& each : cases) {
    const std::string failure = FailureOf(each.also);
    EXPECT_NE(failure.find(each.failure), std::string::npos) << each.also << ": " << failure;
  }
}

TEST_F(PointerTableTest, TheSearchLeavesTheCallersTensorsAloneAlsoWhereTheKernelAddsToThem) {
  const std::vector<int> rows = {3, 1};
  Group x = Make(rows, 3), y = Make(rows, 10);
  DeviceBuffer sizes = Ints(rows);
  TunedKernel kernel = Create(Doubled("for (int i = 0; i < count; ++i) y[g][i] += x[g][i]; return;", Access::kInOut));
  ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), y.table()));
  EXPECT_TRUE(AreAll(y, 13)) << "added once, by the launch";
  EXPECT_EQ(kernel.counters().tunes, 1);
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
      StatusCode::kInvalidArgument, "parameter 'x': tensor 2 of the table is a null pointer, and has elements");
}

TEST_F(PointerTableTest, WhatDoesNotFitIsRefusedInWords) {
  TunedKernel kernel = Create(Doubled());
  const std::vector<int> rows = {2, 3};
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer sizes = Ints(rows), other = Ints({1, 2, 3, 4, 5, 6, 7, 8});
  const TensorView a = x.table().tensors[0], b = x.table().tensors[1];
  auto table = [&](std::vector<TensorView> tensors) {
    return [&, tensors = std::move(tensors), at = x.table().view.data](TunedKernel& its) {
      return its.Launch(stream_->get(), PointerTable::Of(at, tensors.data(), tensors.size()), View(sizes), y.table());
    };
  };
  TensorView halves = b, flat = b, wide = b, unsized = b, gaps = b;
  halves.dtype = kFloat16;
  flat.rank = 1;
  wide = TensorView::Contiguous(b.data, kFloat32, {2, 6});
  unsized.bytes = 0;
  gaps.strides[0] = 8;
  struct Case {
    std::function<Status(TunedKernel&)> launch;
    const char* error;
  };
  const Case cases[] = {
      {table({a, halves}),
       "'x': tensor 1 of the table is float16[3, 4], the first float32[2, 4]: all are of one dtype"},
      {table({a, flat}), "'x': tensor 1 of the table is float32[3], the first float32[2, 4]"},
      {table({halves, halves}), "'x': expected a table of pointers to float32 tensors of rank 2 (PointerTable), got a"},
      {table({a, wide}), "'x': its tensors have different extents in dimension 1 ('N'), and are declared to have one"},
      {table({a, unsized}), "'x': tensor 1 of the table has no size"},
      {table({a, gaps}), "1 of the tensors that 'x' points to have gaps: its kernel computes on contiguous memory"},
      {table({a, b, b}), "'rows', dimension 0 ('G'): extent 2 disagrees with G=3"},
      {table({b, a}), "'x': entry 0 of the table is 0x"},
      {[&](TunedKernel& its) { return its.Launch(stream_->get(), a, View(sizes), y.table()); },
       "'x': expected a table of pointers to float32 tensors of rank 2 (PointerTable), got float32[2, 4]"},
      {[&](TunedKernel& its) { return its.Launch(stream_->get(), x.table(), x.table(), y.table()); },
       "'rows': expected a int32 tensor of rank 1, got a table of float32[2, 3, 4]"},
      {[&](TunedKernel& its) {
         const PointerTable crooked = PointerTable::Of(static_cast<char*>(other.data()) + 4, &a, 1);
         return its.Launch(stream_->get(), crooked, View(sizes), y.table());
       },
       "'x': the table of addresses is not aligned to 8 bytes"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.error);
    EXPECT_ERROR(each.launch(kernel), StatusCode::kInvalidArgument, each.error);
  }
  EXPECT_TRUE(AreAll(y, -1));
  EXPECT_EQ(kernel.counters().tunes, 0);
  ASSERT_OK(kernel.Launch(stream_->get(), x.table(), View(sizes), y.table()));
  EXPECT_TRUE(AreAll(y, 6)) << "a call that was wrong says nothing about its key";
}

TEST_F(PointerTableTest, ATableThatIsNotDeclaredIsRefusedBeforeACandidateWritesThroughIt) {
  const std::vector<int> rows = {2, 3};
  Group y = Make(rows, -1);
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  auto define = [&](std::vector<std::string> dims) {
    KernelDefinition definition("hidden");
    const std::string source =
        "static void hidden(const tuneonce_block&, float* const* y, int* n) { y[0][0] = KIND; *n = 1; }"
        "TUNEONCE_CPU_KERNEL(hidden);";
    definition.Parameters({In("y", kInt64, std::move(dims)), Out("n", kInt32, {"ONE"})})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::HostCpp(source, "hidden").Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  };
  DeviceBuffer n = Ints({0});
  const TensorView out = View(n), table = TensorView::Contiguous(y.table().view.data, kInt64, {2});
  TunedKernel kernel = Create(define({"G"}));
  const char* refused = "parameter 'y': its element 0 is the address of memory";
  EXPECT_ERROR(kernel.Launch(stream_->get(), table, out), StatusCode::kInvalidArgument, refused);
  EXPECT_ERROR(kernel.Warmup(stream_->get(), table, out), StatusCode::kInvalidArgument, refused);
  EXPECT_ERROR(exhaustive_search(define({"G"}), stream_->get(), {table, out}, policy_.search),
               StatusCode::kInvalidArgument, refused);
  EXPECT_TRUE(AreAll(y, -1));
}

TEST_F(PointerTableTest, LargeNumbersThatAreNoAddressesAreNoTable) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("counted");
  definition.Parameters({In("x", kInt64, {"G"}), Out("n", kInt64, {"G"})})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::HostCpp(
                               "static void counted(const tuneonce_block&, const long* x, long* n) "
                               "{ n[0] = x[0] + 0 * KIND; n[1] = x[1]; }"
                               "TUNEONCE_CPU_KERNEL(counted);",
                               "counted")
                        .Define("KIND", c[kind]);
                  }).Grid(Grid::Fixed(1)));
  const std::int64_t values[] = {1732500000000000, std::int64_t{1} << 40};
  DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), 16), n = *DeviceBuffer::Allocate(stream_->view(), 16);
  ASSERT_OK(x.CopyFromHost(values, 16));
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kInt64, {2}),
                          TensorView::Contiguous(n.data(), kInt64, {2})));
  EXPECT_EQ(kernel.counters().tunes, 1);
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

TEST_F(PointerTableTest, ABucketIsTunedAtItsBoundOnTensorsOfItsOwn) {
  KernelDefinition definition = Doubled();
  std::vector<Parameter> parameters = definition.parameters();
  parameters[2].may_be_partial = true;  // At the bound all tensors are as large as the largest may be.
  definition.Parameters(parameters).Key(KeyOf("G").NextPow2(), KeyOf("M").NextPow2(), KeyOf("N"));
  TunedKernel kernel = Create(definition);
  ExpectWorks(kernel, {5, 2, 7});
  ExpectWorks(kernel, {8, 1, 1, 3});
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "G=4, M=8, N=4");
}

TEST_F(PointerTableTest, InTheBackgroundItIsTunedOnWhatTheLaunchHad) {
  policy_.mode = Mode::kTuneInBackground;
  // Fast where the data say so: filled with other data the other config would win.
  TunedKernel kernel =
      Create(Doubled("for (volatile int i = 0; i < (x[g][0] == 3 ? 0 : 1000000) * KIND; i = i + 1) {}"));
  ExpectWorks(kernel, {5, 2, 7});  // Its tensors, and its tables, are gone by the safe point.
  EXPECT_EQ(kernel.counters().tunes, 0);
  ASSERT_OK(kernel.AtSafePoint(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 1);
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].inputs, TunedInputs::kCaller);
  EXPECT_EQ(records[0].config.ToString(), "KIND=1");
  ExpectWorks(kernel, {5, 2, 7});
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(PointerTableTest, AWarmUpByShapeMakesTablesOfItsOwn) {
  TunedKernel kernel = Create(Doubled());
  ASSERT_OK(kernel.Warmup(stream_->get(), {TunedKernel::Shape{{{"G", 3}, {"M", 7}, {"N", 4}}}}));
  EXPECT_EQ(kernel.counters().tunes, 1);
  kernel.Seal();
  ExpectWorks(kernel, {5, 2, 7});
  EXPECT_EQ(kernel.counters().sealed_misses, 0);
  ExpectWorks(kernel, {5, 2});
  EXPECT_EQ(kernel.counters().sealed_misses, 1) << "the stand-in";
}

TEST_F(PointerTableTest, WhatIsAskedByShapeKnowsItsTables) {
  TunedKernel kernel = Create(Doubled());
  const TunedKernel::Shape shape{{{"G", 3}, {"M", 7}, {"N", 4}}}, another{{{"G", 2}, {"M", 3}, {"N", 4}}};
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), {{&kernel, {shape, another}}});
  ASSERT_OK(warmed);
  for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
  EXPECT_EQ(kernel.counters().tunes, 2);
  Result<Choice> choice = kernel.ChoiceOf(stream_->get(), shape);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->config->ToString(), "KIND=1");
  ASSERT_OK(kernel.Retune(stream_->get(), shape));
  EXPECT_EQ(kernel.counters().tunes, 3);
  ASSERT_OK(kernel.Pin(another, {{"KIND", 0}}));
  ExpectWorks(kernel, {3, 1});
  ExpectWorks(kernel, {5, 2, 7});
  EXPECT_EQ(kernel.counters().stand_ins, 0);
  EXPECT_EQ(kernel.counters().tunes, 3);
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

TEST_F(PointerTableTest, IsNotIsolatedAndSaysSo) {
  policy_.search.isolation = Isolation::kPreferred;
  const std::vector<int> rows = {2, 3};
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer sizes = Ints(rows);
  auto search = [&] {
    return exhaustive_search(Doubled(), stream_->get(), {x.table(), View(sizes), y.table()}, policy_.search);
  };
  Result<TuningResult> here = search();
  ASSERT_OK(here);
  ASSERT_FALSE(here->notes.empty());
  EXPECT_EQ(here->notes.back(),
            "candidates ran in this process: 'x' is a table of pointers, which are addresses of this process");
  policy_.search.isolation = Isolation::kRequired;
  EXPECT_ERROR(search(), StatusCode::kFailedPrecondition, "and cannot be: 'x' is a table of pointers");
  EXPECT_TRUE(AreAll(y, -1));
}

TEST_F(PointerTableTest, ARecordServesAnotherKernelAndSoDoesChoiceOf) {
  TunedKernel first = Create(Doubled());
  ExpectWorks(first, {5, 2, 7});
  TunedKernel second = Create(Doubled());
  Group x = Make({5, 2, 7}, 3), y = Make({5, 2, 7}, -1);
  DeviceBuffer sizes = Ints({5, 2, 7});
  Result<Choice> choice = second.ChoiceOf(stream_->get(), x.table(), View(sizes), y.table());
  ASSERT_OK(choice);
  EXPECT_EQ(choice->config->ToString(), "KIND=1");
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

TEST_F(PointerTableTest, WhatCannotBeDeclaredIsRefused) {
  struct Case {
    std::vector<Parameter> parameters;
    std::vector<Assumption> assumptions;
    CallingConvention convention;
    const char* error;
  };
  const Parameter a = In("a", kFloat32, {"G", "M"}).ByPointers({"M"});
  const CallingConvention plain = CallingConvention::kPlain;
  const Case cases[] = {
      {{In("a", kFloat32, {"G"}).ByPointers()}, {}, plain, "parameter 'a': ByPointers needs a dim that counts"},
      {{In("a", kFloat32, {"G", "M"}).ByPointers({"G"})}, {}, plain, "lets the dim 'G' vary, which its tensors do not"},
      {{a, Scalar<int>("s").ByPointers()}, {}, plain, "parameter 's': ByPointers is for tensors"},
      {{a, StrideValue("a", 1)}, {}, plain, "StrideValue('a', 1): tensors that are reached by pointers are dense"},
      {{a, Descriptor("map", "a", TensorMap{{8, 8}})}, {}, plain, "which is a table of pointers: a tensor map"},
      {{In("a", kFloat32, {"G", "M"}).ByPointers().ForWarmup(WarmupFill::Iota())}, {}, plain, "filled with a constant"},
      {{a}, {}, CallingConvention::kCutilePython, "cuTile's convention passes no table of pointers"},
      {{a}, {ExtentDivisibleBy("a", 1, 8)}, plain, "its tensors may differ in 'M'"},
      {{a}, {StrideIs("a", 1, 1)}, plain, "it assumes a stride of 'a', which is a table of pointers"},
      {{a}, {Aligned("a", 12)}, plain, "of such, powers of two are known"},
      {{a, Out("b", kFloat32, {"M"})}, {NoOverlap("b", "a")}, plain, "it assumes that nothing overlaps with 'a'"},
  };
  for (const Case& each : cases) {
    KernelDefinition definition("k");
    Variant variant(testing::NoSource);
    variant.Grid(Grid::Fixed(1)).Assuming(each.assumptions).Convention(each.convention);
    definition.Parameters(each.parameters).AddVariant(variant);
    EXPECT_ERROR(TunedKernelOn::Create(*device_, definition, policy_), StatusCode::kInvalidArgument, each.error);
  }
}

}  // namespace
}  // namespace tuneonce
