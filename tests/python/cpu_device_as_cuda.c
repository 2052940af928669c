/* A double of libcuda.so.1 where there is no GPU: the CPU device's driver, which TUNEONCE_CPU_DRIVER names, without the
   symbols by which tuneonce knows it. Launches take the path of a GPU's, and the kernels run. Whatever code is loaded,
   it is the shared object LOADED_CODE. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kFileNotFound = 301, kNotFound = 500 };

typedef int GetProcAddress(const char* symbol, void** address, int version, unsigned long long flags);
typedef int LibraryLoadData(void** library, const void* image, void*, void**, unsigned, void*, void**, unsigned);

static LibraryLoadData* load;

static int LoadCode(void** library, const void* image, void* options, void** values, unsigned count, void* of_library,
                    void** values_of_library, unsigned count_of_library) {
  static char code[1 << 20];
  FILE* file = fopen(getenv("LOADED_CODE"), "rb");
  if (file == NULL) return kFileNotFound;
  const size_t size = fread(code, 1, sizeof(code), file);
  fclose(file);
  if (size == 0 || size == sizeof(code)) return kFileNotFound;
  (void)image;
  return load(library, code, options, values, count, of_library, values_of_library, count_of_library);
}

int cuGetProcAddress(const char* symbol, void** address, int version, unsigned long long flags) {
  void* driver = dlopen(getenv("TUNEONCE_CPU_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  GetProcAddress* get = driver == NULL ? NULL : (GetProcAddress*)dlsym(driver, "cuGetProcAddress");
  const int result = get == NULL ? kNotFound : get(symbol, address, version, flags);
  if (result == kSuccess && strcmp(symbol, "cuLibraryLoadData") == 0) {
    load = (LibraryLoadData*)*address;
    *address = (void*)LoadCode;
  }
  return result;
}
