// tuneonce compare, of two bundles or back ends
#include <utility>

#include "compare_run.h"
#include "tune_shapes.h"
#include "tuneonce/bundle.h"

namespace tuneonce::cli {
namespace {

ComparedKernel KernelOf(const Bundle& bundle, const std::string& backend) {
  return {std::make_shared<const KernelDefinition>(Undecided(bundle)), backend};
}

/// Shapes of A.
Result<std::vector<WantedShape>> ShapesOf(const CompareOperand& a, const Bundle& bundle, const Device& device,
                                          const CompareOptions& options) {
  if (!options.shapes.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(WantedShapes wanted, ReadShapes(options.shapes, a.bundle, device, options.shape,
                                                              options.scalars, options.search.runtime));
    return std::move(wanted.shapes);
  }
  WantedShape one;
  TUNEONCE_ASSIGN_OR_RETURN(one.job, MakeTuneJob(bundle, device, options.shape, options.scalars));
  return std::vector<WantedShape>{std::move(one)};
}

}  // namespace

Result<CompareReport> CompareBundles(const CompareOperand& a, const CompareOperand& b, const Device& device,
                                     const CompareOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(a.bundle, options.search.runtime));
  const ComparedKernel of_a = KernelOf(bundle, a.backend);
  ComparedKernel of_b{of_a.definition, b.backend};  // Both have one definition, so that equal code is recognized.
  if (b.bundle != a.bundle) {
    TUNEONCE_ASSIGN_OR_RETURN(Bundle other, Bundle::Load(b.bundle, options.search.runtime));
    of_b = KernelOf(other, b.backend);
  }
  TUNEONCE_RETURN_IF_ERROR(CheckSameSignature(*of_a.definition, *of_b.definition));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<WantedShape> shapes, ShapesOf(a, bundle, device, options));
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<CompareRun> run, CompareRun::Create(device, options));
  CompareReport report{a.text, b.text, run->identity().name, {}};
  for (const WantedShape& wanted : shapes) {
    if (wanted.wrong.ok()) {
      report.shapes.push_back(run->At(of_a, of_b, wanted.job));
    } else {
      report.shapes.emplace_back();
      report.shapes.back().kernel = of_a.definition->name();
      report.shapes.back().shape = "line " + std::to_string(wanted.line);
      report.shapes.back().status = wanted.wrong;
    }
    TUNEONCE_RETURN_IF_ERROR(run->CheckInterrupted());
  }
  return report;
}

}  // namespace tuneonce::cli
