#ifndef TUNEONCE_TESTS_TESTING_POINTED_GROUP_H_
#define TUNEONCE_TESTS_TESTING_POINTED_GROUP_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launch/device_table.h"
#include "testing/expect_status.h"
#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce::testing {

/// Tensors of float32[rows, 4], each in memory of its own, filled with one value, and the table of their addresses.
struct PointedGroup {
  static PointedGroup Make(StreamView stream, const std::vector<int>& rows, float value) {
    PointedGroup group;
    std::vector<TensorView> views;
    for (int count : rows) {
      const std::vector<float> values(static_cast<std::size_t>(4 * count), value);
      group.memory.push_back(*DeviceBuffer::Allocate(stream, values.size() * sizeof(float)));
      EXPECT_OK(group.memory.back().CopyFromHost(values.data(), group.memory.back().bytes()));
      EXPECT_OK(stream.Synchronize());
      views.push_back(TensorView::Contiguous(group.memory.back().data(), kFloat32, {count, 4}));
    }
    group.made = *DeviceTable::Create(views, stream);
    return group;
  }
  const PointerTable& table() const { return made->table(); }
  /// All elements of all tensors have this value.
  bool AreAll(StreamView stream, float value) const {
    return std::all_of(memory.begin(), memory.end(), [&](const DeviceBuffer& each) {
      std::vector<float> values(each.bytes() / sizeof(float));
      EXPECT_OK(each.CopyToHost(values.data(), each.bytes()));
      EXPECT_OK(stream.Synchronize());
      return std::all_of(values.begin(), values.end(), [&](float v) { return v == value; });
    });
  }

  std::vector<DeviceBuffer> memory;
  std::unique_ptr<DeviceTable> made;
};

inline DeviceBuffer IntsOn(StreamView stream, const std::vector<int>& values) {
  DeviceBuffer buffer = *DeviceBuffer::Allocate(stream, values.size() * sizeof(int));
  EXPECT_OK(buffer.CopyFromHost(values.data(), buffer.bytes()));
  EXPECT_OK(stream.Synchronize());
  return buffer;
}
inline TensorView IntView(const DeviceBuffer& ints) {
  return TensorView::Contiguous(ints.data(), kInt32, {static_cast<std::int64_t>(ints.bytes() / sizeof(int))});
}

/// y_g = 2 x_g for rows[g] rows of each group; `also` runs before, in each block. KIND=0 is the baseline, and slow.
inline KernelDefinition DoubledGroups(const std::string& also = "", Access access = Access::kOut,
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
                    return KernelSource::CpuCpp(source, "doubled").Define("KIND", c[kind]);
                  }).Grid([](const Config&, const Problem& problem) {
        Geometry geometry;
        geometry.grid.x = problem.dims[Dim{0}];
        return geometry;
      }));
  return definition;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_POINTED_GROUP_H_
