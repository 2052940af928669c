// A library as NVRTC 13.0 is where there is a driver: it keeps cubins and takes them out again, for other options, too,
// unless it is told --no-cache. Where NVRTC would give another one's code, this one fails. With CACHING_NVRTC_IS_OLD in
// the environment it is one that has no cache, and knows no such option. All code is data/cubin/two_kernels.cubin. A
// text with "crash" crashes it.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compile/nvrtc_library.h"  // For the types of its functions, which sanitizers compare.

namespace {

using Program = tuneonce::NvrtcLibrary::Program;

constexpr int kInvalidOption = 5, kInternalError = 11;
std::string kept;  // The options of the first compile that was kept.
bool crashes = false;

std::string Cubin() {
  std::string bytes;
  std::FILE* file = std::fopen(TUNEONCE_TEST_DATA "/cubin/two_kernels.cubin", "rb");
  for (int byte = 0; file != nullptr && (byte = std::fgetc(file)) != EOF;) bytes.push_back(static_cast<char>(byte));
  if (file != nullptr) std::fclose(file);
  return bytes;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
const char* nvrtcGetErrorString(int /*result*/) { return "this is another one's code"; }
int nvrtcCreateProgram(Program* program, const char* text, const char*, int, const char* const*, const char* const*) {
  crashes = std::strstr(text, "crash") != nullptr;
  return *program = reinterpret_cast<Program>(&kept), 0;
}
int nvrtcDestroyProgram(Program* /*program*/) { return 0; }
int nvrtcAddNameExpression(Program /*program*/, const char* /*expression*/) { return 0; }
int nvrtcGetLoweredName(Program /*program*/, const char* expression, const char** name) {
  return *name = expression, 0;
}
int nvrtcCompileProgram(Program /*program*/, int count, const char* const* options) {
  if (crashes) {
    signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would end it by an exit.
    raise(SIGSEGV);
  }
  const bool is_old = std::getenv("CACHING_NVRTC_IS_OLD") != nullptr;
  bool keeps = !is_old;
  std::string all;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(options[i], "--no-cache") == 0) {
      if (is_old) return kInvalidOption;
      keeps = false;
    }
    all.append(options[i]).append("\n");
  }
  if (!keeps) return 0;
  if (kept.empty()) kept = all;
  return kept == all ? 0 : kInternalError;
}
int nvrtcGetProgramLogSize(Program /*program*/, std::size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLog(Program /*program*/, char* log) { return *log = '\0', 0; }
int nvrtcGetCUBINSize(Program /*program*/, std::size_t* size) { return *size = Cubin().size(), 0; }
int nvrtcGetCUBIN(Program /*program*/, char* bytes) {
  const std::string cubin = Cubin();
  return std::memcpy(bytes, cubin.data(), cubin.size()), 0;
}
}
