/* Tunes and launches an installed kernel from C99. Build and run it:
 *   gcc -std=c99 -c c_host.c $(pkg-config --cflags tuneonce)
 *   g++ c_host.o $(pkg-config --libs tuneonce) -o c_host && ./c_host */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tuneonce/c.h>

enum { kCount = 1000, kBytes = kCount * sizeof(float) };

/* Copies kBytes bytes. A host with a GPU has its own copies; on the CPU device, host and device share their memory. */
static void Copy(int is_on_gpu, const char* function, void* to, const void* from) {
  void* driver = is_on_gpu ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
  CUresult (*copy)(void*, const void*, size_t) = NULL;
  if (driver != NULL) *(void**)&copy = dlsym(driver, function);
  if (copy != NULL) {
    copy(to, from, kBytes);
  } else {
    memcpy(to, from, kBytes);
  }
}

int main(void) {
  static float values[kCount];
  const int64_t shape[] = {kCount};
  tuneonce_context* context = NULL;
  tuneonce_policy* policy = NULL;
  tuneonce_kernel* kernel = NULL;
  tuneonce_tensor x = {NULL, TUNEONCE_FLOAT32, 1, shape, NULL, 0}, z = x;
  const tuneonce_argument arguments[] = {{&x, NULL, 0}, {&x, NULL, 0}, {&z, NULL, 0}};
  int i, is_correct = 1;
  const int is_on_gpu = tuneonce_context_create("cuda", &context) == TUNEONCE_OK;
  if (!is_on_gpu && tuneonce_context_create("cpu", &context) != TUNEONCE_OK) goto failed;
  if (tuneonce_context_allocate(context, kBytes, &x.data) != TUNEONCE_OK) goto failed;
  if (tuneonce_context_allocate(context, kBytes, &z.data) != TUNEONCE_OK) goto failed;
  for (i = 0; i < kCount; ++i) values[i] = (float)i;
  Copy(is_on_gpu, "cuMemcpyHtoD_v2", x.data, values);

  if (tuneonce_policy_create(&policy) != TUNEONCE_OK) goto failed;
  if (tuneonce_policy_set(policy, "race_budget_ms", "2000") != TUNEONCE_OK) goto failed;
  if (tuneonce_kernel_load("vector_add", policy, &kernel) != TUNEONCE_OK) goto failed; /* Or a bundle's folder. */
  if (tuneonce_kernel_launch(kernel, NULL, arguments, 3) != TUNEONCE_OK) goto failed;  /* The first launch tunes. */
  if (tuneonce_context_synchronize(context) != TUNEONCE_OK) goto failed;
  Copy(is_on_gpu, "cuMemcpyDtoH_v2", values, z.data);
  for (i = 0; i < kCount; ++i) is_correct = is_correct && values[i] == 2 * (float)i;
  tuneonce_kernel_destroy(kernel);
  tuneonce_policy_destroy(policy);
  tuneonce_context_destroy(context);
  printf(is_correct ? "OK\n" : "x + x is not 2 x\n");
  return is_correct ? 0 : 1;
failed:
  printf("%s\n", tuneonce_last_error());
  return 1;
}
