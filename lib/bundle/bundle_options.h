#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_OPTIONS_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_OPTIONS_H_

#include <string>

#include "bundle/bundle_files.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// What the compiler gets for an option of a bundle's manifest. A bundle comes from elsewhere, and compilers have
/// options that write files (-o, -MF), run programs (-fplugin, -B), or read further options (@file): so only those are
/// passed on that are known to change nothing but the code. An include path (-IDIR) is made absolute; it must be a
/// folder of the bundle. Errors: InvalidArgument for any other option, NotFound for a folder that is not there.
Result<std::string> BundleOption(SourceKind kind, const std::string& option, const BundleFiles& files);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_OPTIONS_H_
