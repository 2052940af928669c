#ifndef TUNEONCE_COMPILE_ARTIFACT_H_
#define TUNEONCE_COMPILE_ARTIFACT_H_

#include <string>

#include "tuneonce/base/fingerprint.h"

namespace tuneonce {

/// What a toolchain makes of a source: an image that the driver can load. A value.
struct Artifact {
  std::string image;   ///< A cubin, or the CPU device's shared object.
  std::string symbol;  ///< The kernel's name in the image.
  std::string log;     ///< What the tool said, warnings included.
  double seconds = 0;  ///< Wall time of the compile.
  /// Of the code: two artifacts with the same one do the same in the same time.
  Fingerprint code_fingerprint;
};

}  // namespace tuneonce

#endif  // TUNEONCE_COMPILE_ARTIFACT_H_
