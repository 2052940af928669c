# Cross-compiling for aarch64 (Grace Hopper) on a Debian or Ubuntu: its cross compiler, what else is needed from the folder
# TUNEONCE_AARCH64_ROOT (scripts/test aarch64 unpacks it there), and qemu to run the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TUNEONCE_AARCH64_ROOT)
set(CMAKE_PREFIX_PATH ${TUNEONCE_AARCH64_ROOT}/usr)
set(CMAKE_FIND_ROOT_PATH ${TUNEONCE_AARCH64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu
    -E LD_LIBRARY_PATH=${TUNEONCE_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
