#include "bundle_classify.h"

#include "inspect/classified_bundle.h"
#include "numbers.h"
#include "output.h"
#include "target_argument.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {

Status ClassifyAndPrint(const std::string& folder_or_name, const BundleClassifyOptions& options, bool json) {
  ClassifiedBundle::Options asked;
  if (!options.target.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(asked.target, ParseGpuTarget(options.target));
  }
  asked.runtime = Runtime::Default();
  TUNEONCE_ASSIGN_OR_RETURN(asked.dims, ParseExtents(options.shape));
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(ClassifiedBundle classified, ClassifiedBundle::Of(bundle, asked));
  if (json) {
    PrintJson(nlohmann::ordered_json::parse(classified.Json()));
  } else {
    PrintText(classified.ToString());
  }
  return Status();
}

}  // namespace tuneonce::cli
