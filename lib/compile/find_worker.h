#ifndef TUNEONCE_LIB_COMPILE_FIND_WORKER_H_
#define TUNEONCE_LIB_COMPILE_FIND_WORKER_H_

#include <string>

#include "base/environment.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The path of the program `tuneonce_worker`, in which trials and NVRTC run: `Environment::worker`, else beside this
/// library or program (a build), else libexec/tuneonce there (a Python package) or of the installation that it is in,
/// as seen from the folders of this library, of the program, and of the libraries that this code needs (a program that
/// a static library was linked into). Errors: Unavailable, with all places.
Result<std::string> FindWorker(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_FIND_WORKER_H_
