// A library as NVRTC is, with a fault that NVRTC 13.0 has: what --prec-div says is one for all compiles that run. One
// that ends with another value than it began with fails, where NVRTC makes the other's code. Whatever is compiled
// becomes data/cubin/two_kernels.cubin.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

std::atomic<bool> divides_exactly{true};
std::atomic<int> running{0}, most{0};

std::string Cubin() {
  std::string bytes;
  std::FILE* file = std::fopen(TUNEONCE_TEST_DATA "/cubin/two_kernels.cubin", "rb");
  for (int byte = file == nullptr ? EOF : std::fgetc(file); byte != EOF; byte = std::fgetc(file))
    bytes.push_back(static_cast<char>(byte));
  if (file != nullptr) std::fclose(file);
  return bytes;
}

}  // namespace

extern "C" {

/// How many ran at a time, at most.
int forgetful_nvrtc_most() { return most; }

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
const char* nvrtcGetErrorString(int /*result*/) { return "it got another compile's options"; }
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
  *program = &running;
  return 0;
}
int nvrtcDestroyProgram(void** /*program*/) { return 0; }
int nvrtcAddNameExpression(void* /*program*/, const char* /*expression*/) { return 0; }
int nvrtcGetLoweredName(void* /*program*/, const char* expression, const char** name) { return *name = expression, 0; }
int nvrtcCompileProgram(void* /*program*/, int count, const char* const* options) {
  bool is_exact = true;
  for (int i = 0; i < count; ++i) is_exact = is_exact && std::strcmp(options[i], "--prec-div=false") != 0;
  divides_exactly = is_exact;
  const int now = ++running;
  for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  --running;
  return divides_exactly == is_exact ? 0 : 11;
}
int nvrtcGetProgramLogSize(void* /*program*/, std::size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLog(void* /*program*/, char* log) { return *log = '\0', 0; }
int nvrtcGetCUBINSize(void* /*program*/, std::size_t* size) { return *size = Cubin().size(), 0; }
int nvrtcGetCUBIN(void* /*program*/, char* bytes) {
  const std::string cubin = Cubin();
  std::memcpy(bytes, cubin.data(), cubin.size());
  return 0;
}
}
