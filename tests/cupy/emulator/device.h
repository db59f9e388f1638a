// CUDA C++ for g++: enough of the language and its library for the kernels that CuPy generates and for ours.
//
// Blocks run one after another. So do the threads of a block, unless the kernel synchronises: then each thread is a
// fiber that yields at a barrier. Atomics are plain code therefore; races between blocks cannot show.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>
#include <vector_types.h>
#ifdef EMU_HALF
#include <cuda_fp16.h>
#define __CUDACC_VER_MAJOR__ 13
#endif
#ifdef EMU_BFLOAT
#include <cuda_bf16.h>
#endif
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __restrict__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;
alignas(16) static char emu_dynamic_shared[1 << 18];

namespace emu {
typedef void (*kernel)(void **);

static ucontext_t scheduler;
static std::vector<ucontext_t> fibers;
static std::vector<char *> stacks;
static std::vector<char> finished;
static int current;
static kernel running;
static void **arguments;

static void be_thread(int t) {
  threadIdx.x = t % blockDim.x;
  threadIdx.y = (t / blockDim.x) % blockDim.y;
  threadIdx.z = t / (blockDim.x * blockDim.y);
}
static void barrier() {
  int me = current;
  swapcontext(&fibers[me], &scheduler);
  current = me;
  be_thread(me);
}
static void fiber() {
  running(arguments);
  finished[current] = 1;
  swapcontext(&fibers[current], &scheduler);
}
static void run_fibers(int threads, kernel body, void **parameters) {
  const size_t stack = 1 << 16;
  running = body;
  arguments = parameters;
  if ((int)fibers.size() < threads) fibers.resize(threads);
  while ((int)stacks.size() < threads) stacks.push_back((char *)malloc(stack));
  finished.assign(threads, 0);
  for (int t = 0; t < threads; t++) {
    getcontext(&fibers[t]);
    fibers[t].uc_stack.ss_sp = stacks[t];
    fibers[t].uc_stack.ss_size = stack;
    fibers[t].uc_link = nullptr;
    makecontext(&fibers[t], fiber, 0);
  }
  for (int left = threads; left;) {
    left = 0;
    for (int t = 0; t < threads; t++) {
      if (finished[t]) continue;
      current = t;
      be_thread(t);
      swapcontext(&scheduler, &fibers[t]);
      left += !finished[t];
    }
  }
}

// Calls a kernel with parameters given as addresses.
template <class... A> size_t size_of(void (*)(A...), int i) {
  size_t sizes[] = {sizeof(A)..., 0};
  return i < (int)sizeof...(A) ? sizes[i] : 0;
}
template <class T, T F> struct call;
template <class... A, void (*F)(A...)> struct call<void (*)(A...), F> {
  template <size_t... I> static void with(void **p, std::index_sequence<I...>) {
    F(*(std::remove_cv_t<std::remove_reference_t<A>> *)p[I]...);
  }
  static void run(void **p) { with(p, std::make_index_sequence<sizeof...(A)>()); }
};
// one: the kernel loops over all elements whatever the grid is (CUPY_FOR), so one thread does them all.
static void launch(kernel body, bool synchronises, bool one, const unsigned *g, void **p) {
  gridDim = one ? dim3(1, 1, 1) : dim3(g[0], g[1], g[2]);
  blockDim = one ? dim3(1, 1, 1) : dim3(g[3], g[4], g[5]);
  int threads = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned z = 0; z < gridDim.z; z++)
    for (unsigned y = 0; y < gridDim.y; y++)
      for (unsigned x = 0; x < gridDim.x; x++) {
        blockIdx.x = x, blockIdx.y = y, blockIdx.z = z;
        if (synchronises && threads > 1) {
          run_fibers(threads, body, p);
          continue;
        }
        for (int t = 0; t < threads; t++) {
          be_thread(t);
          body(p);
        }
      }
}
}  // namespace emu

#define EMU_KERNEL(NAME, SYNCHRONISES, ONE, ...)                                                                   \
  extern "C" __attribute__((visibility("default"))) void emu_launch_##NAME(const unsigned *grid, void **p) {       \
    emu::launch(&emu::call<decltype(&__VA_ARGS__), &__VA_ARGS__>::run, SYNCHRONISES, ONE, grid, p);                \
  }                                                                                                                \
  extern "C" __attribute__((visibility("default"))) size_t emu_size_##NAME(int i) {                                \
    return emu::size_of(&__VA_ARGS__, i);                                                                          \
  }

static inline void __syncthreads() {
  if (blockDim.x * blockDim.y * blockDim.z > 1) emu::barrier();
}
static inline void __syncwarp(unsigned = ~0u) { __syncthreads(); }
static int emu_any;
static inline int __syncthreads_or(int mine) {
  __syncthreads();
  emu_any = 0;
  __syncthreads();
  if (mine) emu_any = 1;
  __syncthreads();
  return emu_any;
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

// Shuffles: every thread of the block writes its value, waits, and reads its neighbour's.
static double emu_lanes[1024];
static inline int emu_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
template <class T> static T emu_shuffle(T value, int from) {
  int me = emu_thread();
  memcpy(&emu_lanes[me], &value, sizeof value);
  __syncthreads();
  T result;
  memcpy(&result, &emu_lanes[(me & ~31) + from], sizeof result);
  __syncthreads();
  return result;
}
template <class T> static T __shfl_sync(unsigned, T v, int from, int w = 32) {
  int lane = emu_thread() & 31;
  return emu_shuffle(v, (lane & ~(w - 1)) + (from & (w - 1)));
}
template <class T> static T __shfl_xor_sync(unsigned, T v, int mask, int = 32) {
  return emu_shuffle(v, (emu_thread() & 31) ^ mask);
}
template <class T> static T __shfl_down_sync(unsigned, T v, unsigned d, int w = 32) {
  int lane = emu_thread() & 31, from = lane + d;
  return emu_shuffle(v, (from & ~(w - 1)) == (lane & ~(w - 1)) ? from : lane);
}
template <class T> static T __shfl_up_sync(unsigned, T v, unsigned d, int w = 32) {
  int lane = emu_thread() & 31, from = lane - (int)d;
  return emu_shuffle(v, from < (lane & ~(w - 1)) ? lane : from);
}

template <class T, class F> static T emu_atomic(T *p, F next) {
  T old = *p;
  *p = next(old);
  return old;
}
template <class T, class U> static T atomicAdd(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)(o + (T)v); }); }
template <class T, class U> static T atomicSub(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)(o - (T)v); }); }
template <class T, class U> static T atomicMax(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)v > o ? (T)v : o; }); }
template <class T, class U> static T atomicMin(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)v < o ? (T)v : o; }); }
template <class T, class U> static T atomicExch(T *p, U v) { return emu_atomic(p, [&](T) { return (T)v; }); }
template <class T, class U> static T atomicAnd(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)(o & (T)v); }); }
template <class T, class U> static T atomicOr(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)(o | (T)v); }); }
template <class T, class U> static T atomicXor(T *p, U v) { return emu_atomic(p, [&](T o) { return (T)(o ^ (T)v); }); }
template <class T, class U, class V> static T atomicCAS(T *p, U c, V v) {
  return emu_atomic(p, [&](T o) { return o == (T)c ? (T)v : o; });
}

using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
// min and max of mixed integer types, as CUDA has them; NaN-avoiding for floats.
template <class A, class B> using emu_both = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>, std::common_type_t<A, B>>;
template <class A, class B> static inline emu_both<A, B> min(A a, B b) { emu_both<A, B> x = a, y = b; return y < x ? y : x; }
template <class A, class B> static inline emu_both<A, B> max(A a, B b) { emu_both<A, B> x = a, y = b; return x < y ? y : x; }
static inline float min(float a, float b) { return std::fmin(a, b); }
static inline float max(float a, float b) { return std::fmax(a, b); }
static inline double min(double a, double b) { return std::fmin(a, b); }
static inline double max(double a, double b) { return std::fmax(a, b); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline double sinpi(double x) { return std::sin(M_PI * x); }
static inline double cospi(double x) { return std::cos(M_PI * x); }
static inline double exp10(float x) { return std::pow(10.0, (double)x); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
static inline float normcdff(float x) { return normcdf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __fdividef(float a, float b) { return a / b; }
// Rounded on their own: never contracted into a fused multiply-add.
static inline float __fmul_rn(float a, float b) { volatile float r = a * b; return r; }
static inline float __fadd_rn(float a, float b) { volatile float r = a + b; return r; }
static inline float __fsub_rn(float a, float b) { volatile float r = a - b; return r; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline double __dmul_rn(double a, double b) { volatile double r = a * b; return r; }
static inline double __dadd_rn(double a, double b) { volatile double r = a + b; return r; }
static inline double __dsub_rn(double a, double b) { volatile double r = a - b; return r; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return std::sqrt(a); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
template <class To, class From> static inline To emu_bits(From v) { To r; memcpy(&r, &v, sizeof r); return r; }
static inline int __float_as_int(float v) { return emu_bits<int>(v); }
static inline float __int_as_float(int v) { return emu_bits<float>(v); }
static inline unsigned __float_as_uint(float v) { return emu_bits<unsigned>(v); }
static inline float __uint_as_float(unsigned v) { return emu_bits<float>(v); }
static inline long long __double_as_longlong(double v) { return emu_bits<long long>(v); }
static inline double __longlong_as_double(long long v) { return emu_bits<double>(v); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
template <class T> static inline T __ldg(const T *p) { return *p; }
