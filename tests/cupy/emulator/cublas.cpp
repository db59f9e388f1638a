// The matrix products of cuBLAS on the CPU: column-major, as there. Other entry points exist and answer "not supported".
#include <cstdint>
#include <cstring>
#include <vector>

typedef int status;
typedef void *handle;
typedef void (*action)(void *);
enum { OK = 0, NOT_SUPPORTED = 15 };
enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };  // cudaDataType

static thread_local handle stream;
static int pointer_mode, math_mode;
static int (*capturing)(intptr_t stream);
static void (*record)(action, void *);
static int64_t *launches;
extern "C" void emu_blas_bind(int (*is_capturing)(intptr_t), void (*recorder)(action, void *), int64_t *counter) {
  capturing = is_capturing, record = recorder, launches = counter;
}

static float widen(uint16_t bits, int type) {
  if (type == F16) {
    _Float16 half;
    memcpy(&half, &bits, 2);
    return half;
  }
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, 4);
  return value;
}
static uint16_t narrow(float value, int type) {
  uint16_t bits;
  if (type == F16) {
    _Float16 half = value;
    memcpy(&bits, &half, 2);
    return bits;
  }
  uint32_t word;
  memcpy(&word, &value, 4);
  return (word + 0x7fff + ((word >> 16) & 1)) >> 16;
}
static size_t width(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

struct product {  // c = alpha · op(a) · op(b) + beta · c, for each of `batch`
  int trans_a, trans_b, m, n, k;
  double alpha, beta;
  const char *a, *b;
  char *c;
  int type_a, type_b, type_c;
  int64_t lda, ldb, ldc, step_a, step_b, step_c;
  int batch;
  bool pointers;  // a, b and c are arrays of pointers
};

template <class T> static T load(const char *p, int type, size_t i) {
  return type == F32 ? (T)((const float *)p)[i] : type == F64 ? (T)((const double *)p)[i] : (T)widen(((const uint16_t *)p)[i], type);
}
template <class T> static void multiply(const product &p, const char *a, const char *b, char *c) {
  std::vector<T> left((size_t)p.m * p.k), right((size_t)p.n * p.k);  // rows along k
  for (int i = 0; i < p.m; i++)
    for (int x = 0; x < p.k; x++) left[(size_t)i * p.k + x] = load<T>(a, p.type_a, p.trans_a ? x + i * p.lda : i + x * p.lda);
  for (int j = 0; j < p.n; j++)
    for (int x = 0; x < p.k; x++) right[(size_t)j * p.k + x] = load<T>(b, p.type_b, p.trans_b ? j + x * p.ldb : x + j * p.ldb);
  for (int j = 0; j < p.n; j++)
    for (int i = 0; i < p.m; i++) {
      T sum = 0;
      for (int x = 0; x < p.k; x++) sum += left[(size_t)i * p.k + x] * right[(size_t)j * p.k + x];
      size_t at = i + j * p.ldc;
      T value = (T)p.alpha * sum + (p.beta ? (T)p.beta * load<T>(c, p.type_c, at) : (T)0);
      if (p.type_c == F32) ((float *)c)[at] = value;
      else if (p.type_c == F64) ((double *)c)[at] = value;
      else ((uint16_t *)c)[at] = narrow(value, p.type_c);
    }
}
static void run(void *argument) {
  const product &p = *(product *)argument;
  for (int64_t i = 0; i < p.batch; i++) {
    const char *a = p.pointers ? ((const char **)p.a)[i] : p.a + i * p.step_a * width(p.type_a);
    const char *b = p.pointers ? ((const char **)p.b)[i] : p.b + i * p.step_b * width(p.type_b);
    char *c = p.pointers ? ((char **)p.c)[i] : p.c + i * p.step_c * width(p.type_c);
    if (p.type_a == F64) multiply<double>(p, a, b, c); else multiply<float>(p, a, b, c);
  }
}
static bool known(int type) { return type == F32 || type == F64 || type == F16 || type == BF16; }
// What the last product was given, for a test: function, orders, sizes, memory orders, types, precision and algorithm.
extern "C" int64_t emu_product[20];
int64_t emu_product[20];
enum { PLAIN, POINTERS, EX, STRIDED_EX };
static status submit(product p, int function, int compute = 0, int algorithm = 0) {
  const int64_t given[] = {function, p.trans_a, p.trans_b, p.m, p.n, p.k, p.type_a, p.type_b, p.type_c, p.lda, p.ldb, p.ldc,
                           p.step_a, p.step_b, p.step_c, p.batch, compute, algorithm};
  memcpy(emu_product, given, sizeof given);
  if (!known(p.type_a) || !known(p.type_b) || !known(p.type_c)) return NOT_SUPPORTED;
  if (capturing((intptr_t)stream)) { record(run, new product(p)); return OK; }
  ++*launches;
  run(&p);
  return OK;
}
// A scalar is a double where the computation is in double (CUBLAS_COMPUTE_64F, CUDA_R_64F).
static double scalar(const void *p, int compute) { return compute == 70 || compute == 71 || compute == 1 ? *(const double *)p : *(const float *)p; }
template <class T> static status plain(int ta, int tb, int m, int n, int k, const T *alpha, const void *a, int lda, long long sa,
                                       const void *b, int ldb, long long sb, const T *beta, void *c, int ldc, long long sc, int batch, bool pointers = false) {
  const int type = sizeof(T) == 8 ? F64 : F32;
  return submit({ta, tb, m, n, k, *alpha, *beta, (const char *)a, (const char *)b, (char *)c, type, type, type, lda, ldb, ldc, sa, sb, sc, batch, pointers},
                pointers ? POINTERS : PLAIN);
}
template <class T> static status add(int ta, int tb, int m, int n, T alpha, const T *a, int lda, T beta, const T *b, int ldb, T *c, int ldc) {
  if (capturing((intptr_t)stream)) return NOT_SUPPORTED;  // nobody here captures one
  ++*launches;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++)
      c[i + j * ldc] = (alpha ? alpha * (ta ? a[j + i * lda] : a[i + j * lda]) : 0) + (beta ? beta * (tb ? b[j + i * ldb] : b[i + j * ldb]) : 0);
  return OK;
}

extern "C" {
status cublasCreate_v2(handle *h) { *h = (handle)1; return OK; }
status cublasDestroy_v2(handle) { return OK; }
status cublasGetVersion_v2(handle, int *v) { *v = 130000; return OK; }
status cublasSetStream_v2(handle, handle s) { stream = s; return OK; }
status cublasGetStream_v2(handle, handle *s) { *s = stream; return OK; }
status cublasSetMathMode(handle, int m) { math_mode = m; return OK; }
status cublasGetMathMode(handle, int *m) { *m = math_mode; return OK; }
status cublasSetPointerMode_v2(handle, int m) { pointer_mode = m; return OK; }
status cublasGetPointerMode_v2(handle, int *m) { *m = pointer_mode; return OK; }
status cublasSgemm_v2(handle, int ta, int tb, int m, int n, int k, const float *al, const float *a, int lda, const float *b, int ldb, const float *be, float *c, int ldc) { return plain(ta, tb, m, n, k, al, a, lda, 0, b, ldb, 0, be, c, ldc, 0, 1); }
status cublasDgemm_v2(handle, int ta, int tb, int m, int n, int k, const double *al, const double *a, int lda, const double *b, int ldb, const double *be, double *c, int ldc) { return plain(ta, tb, m, n, k, al, a, lda, 0, b, ldb, 0, be, c, ldc, 0, 1); }
status cublasSgemmStridedBatched(handle, int ta, int tb, int m, int n, int k, const float *al, const float *a, int lda, long long sa, const float *b, int ldb, long long sb, const float *be, float *c, int ldc, long long sc, int batch) { return plain(ta, tb, m, n, k, al, a, lda, sa, b, ldb, sb, be, c, ldc, sc, batch); }
status cublasDgemmStridedBatched(handle, int ta, int tb, int m, int n, int k, const double *al, const double *a, int lda, long long sa, const double *b, int ldb, long long sb, const double *be, double *c, int ldc, long long sc, int batch) { return plain(ta, tb, m, n, k, al, a, lda, sa, b, ldb, sb, be, c, ldc, sc, batch); }
status cublasSgemmBatched(handle, int ta, int tb, int m, int n, int k, const float *al, const float **a, int lda, const float **b, int ldb, const float *be, float **c, int ldc, int batch) { return plain(ta, tb, m, n, k, al, a, lda, 0, b, ldb, 0, be, c, ldc, 0, batch, true); }
status cublasDgemmBatched(handle, int ta, int tb, int m, int n, int k, const double *al, const double **a, int lda, const double **b, int ldb, const double *be, double **c, int ldc, int batch) { return plain(ta, tb, m, n, k, al, a, lda, 0, b, ldb, 0, be, c, ldc, 0, batch, true); }
status cublasGemmEx(handle, int ta, int tb, int m, int n, int k, const void *al, const void *a, int t_a, int lda, const void *b, int t_b, int ldb, const void *be, void *c, int t_c, int ldc, int compute, int algorithm) {
  return submit({ta, tb, m, n, k, scalar(al, compute), scalar(be, compute), (const char *)a, (const char *)b, (char *)c, t_a, t_b, t_c, lda, ldb, ldc, 0, 0, 0, 1, false}, EX, compute, algorithm);
}
status cublasGemmStridedBatchedEx(handle, int ta, int tb, int m, int n, int k, const void *al, const void *a, int t_a, int lda, long long sa, const void *b, int t_b, int ldb, long long sb, const void *be, void *c, int t_c, int ldc, long long sc, int batch, int compute, int algorithm) {
  return submit({ta, tb, m, n, k, scalar(al, compute), scalar(be, compute), (const char *)a, (const char *)b, (char *)c, t_a, t_b, t_c, lda, ldb, ldc, sa, sb, sc, batch, false}, STRIDED_EX, compute, algorithm);
}
status cublasSgeam(handle, int ta, int tb, int m, int n, const float *al, const float *a, int lda, const float *be, const float *b, int ldb, float *c, int ldc) { return add(ta, tb, m, n, *al, a, lda, *be, b, ldb, c, ldc); }
status cublasDgeam(handle, int ta, int tb, int m, int n, const double *al, const double *a, int lda, const double *be, const double *b, int ldb, double *c, int ldc) { return add(ta, tb, m, n, *al, a, lda, *be, b, ldb, c, ldc); }
}
// The entry points that CuPy looks up and nobody here calls: generated by build.py.
