#ifndef TUNEONCE_LIB_COMPILE_PYTHON_PACKAGES_H_
#define TUNEONCE_LIB_COMPILE_PYTHON_PACKAGES_H_

#include <string>
#include <vector>

#include "base/environment.h"

namespace tuneonce {
inline namespace v0 {

/// Where PyPI's wheels may lie, best first: this library's own site-packages, then site-packages and dist-packages of
/// any python3 of $VIRTUAL_ENV, ~/.local, /usr/local and /usr. But for the first, those that are there.
std::vector<std::string> PythonPackageFolders(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_PYTHON_PACKAGES_H_
