// A library as a CUDA driver is, whose first cuInit waits until it is told to go on, and whose functions do nothing.
#include <cuda.h>
#include <sched.h>

#include <atomic>

#undef cuGetProcAddress

extern "C" {

/// 0: nobody asked yet; 1: the first cuInit waits; 2: it goes on.
std::atomic<int> stopping_driver_state{0};

CUresult StoppingInit(unsigned) {
  int nobody = 0;
  if (!stopping_driver_state.compare_exchange_strong(nobody, 1)) return CUDA_SUCCESS;
  while (stopping_driver_state != 2) sched_yield();
  return CUDA_SUCCESS;
}
CUresult StoppingNothing() { return CUDA_SUCCESS; }

CUresult cuGetProcAddress(const char* symbol, void** address, int, cuuint64_t) {
  const bool is_init = symbol[0] == 'c' && symbol[1] == 'u' && symbol[2] == 'I' && symbol[3] == 'n';
  *address = is_init ? reinterpret_cast<void*>(&StoppingInit) : reinterpret_cast<void*>(&StoppingNothing);
  return CUDA_SUCCESS;
}
}
